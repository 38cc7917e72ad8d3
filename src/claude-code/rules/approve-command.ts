import {
  type ArgumentKind,
  type AutoApprovedCommand,
  argumentPatterns,
  autoApprovedCommands,
  type CommandSpendingKind,
} from "./approved-commands.ts";

/** The decision of swarm's hook in Claude Code about a shell command that an agent wants to run. */
export type CommandVerdict =
  /**
   * An approved swarm command. The caller must still check the command's task files and, if the command
   * spends money, the budget.
   */
  | {
      readonly kind: "allow";
      readonly taskFiles: readonly string[];
      readonly spends: CommandSpendingKind | null;
    }
  /**
   * A dangerous command. Claude Code asks the user, even if the user's permission rules allow the command.
   */
  | { readonly kind: "ask"; readonly why: string }
  /** A command about which the hook decides nothing. Claude Code decides as if the hook did not exist. */
  | { readonly kind: "silent"; readonly why: string };

const maxLength = 2_000;

/** The characters that an approved command may contain. No shell treats any of them specially. */
const plain = /^[A-Za-z0-9_./:=@, -]+$/;

/**
 * Decides whether an agent may run a shell command. Approves a command only if its whole text parses as an
 * approved swarm command, because a search for dangerous parts would miss some. `programs` are the absolute
 * paths of the installed `swarm`.
 */
export function judgeAgentCommand(command: string, programs: readonly string[]): CommandVerdict {
  const danger = dangerIn(command);
  if (danger !== null) return { kind: "ask", why: danger };
  if (command.length > maxLength) return silent("the command is too long");
  if (!plain.test(command)) return silent("the command has a character that no approved command contains");
  const [program = "", verb = "", ...rest] = command.split(" ");
  if (!program.startsWith("/") || !programs.includes(program))
    return silent("the command's program is not the installed swarm");
  const known = Object.hasOwn(autoApprovedCommands, verb) ? autoApprovedCommands[verb] : undefined;
  if (!known) return silent(`swarm ${verb} is not an approved command`);
  return judgeWords(known, rest);
}

function judgeWords({ flags, words, spends }: AutoApprovedCommand, rest: readonly string[]): CommandVerdict {
  const taskFiles: string[] = [];
  const fits = (word: string | undefined, kind: ArgumentKind): boolean => {
    if (word === undefined || !argumentPatterns[kind].test(word)) return false;
    if (kind === "task file") taskFiles.push(word);
    return true;
  };
  let count = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? "";
    if (Object.hasOwn(flags, word)) {
      const kind = flags[word] ?? null;
      if (kind === null) continue;
      at += 1;
      if (!fits(rest[at], kind)) return silent(`${word} needs a value of this kind: ${kind}`);
      continue;
    }
    if (words === null || !fits(word, words.kind))
      return silent(`${JSON.stringify(word)} is not an approved argument`);
    count += 1;
  }
  if (words !== null && (count < words.least || count > words.most))
    return silent(`the command has ${count} arguments besides its flags, which is too few or too many`);
  return { kind: "allow", taskFiles, spends: spends ?? null };
}

/**
 * The maximum number of characters of a command that swarm searches for dangerous actions. Only the user's
 * own permission rules apply to the rest of the command.
 */
const maxSearched = 20_000;

/**
 * Returns a description of a dangerous action in a command, such as starting a privileged container, or
 * null. A text search is enough, because a false alarm only makes Claude Code ask the user. Each search
 * takes linear time, because the command is untrusted.
 */
function dangerIn(command: string): string | null {
  const text = command.slice(0, maxSearched);
  if (text.includes("--privileged")) return "the command requests a privileged container";
  if (/(?:docker|podman|containerd)[\w.-]{0,40}\.sock/.test(text))
    return "the command names the socket of a container engine";
  const engineAt = text.search(/\b(?:docker|podman|nerdctl)\b/);
  if (engineAt < 0) return null;
  const afterEngine = text.slice(engineAt);
  const verbAt = afterEngine.search(/\b(?:run|create)\b/);
  if (verbAt < 0) return null;
  return /\s(?:-[a-z]{0,20}v|--volume|--mount)/.test(afterEngine.slice(verbAt))
    ? "the command mounts a part of this machine into a container"
    : null;
}

function silent(why: string): CommandVerdict {
  return { kind: "silent", why };
}
