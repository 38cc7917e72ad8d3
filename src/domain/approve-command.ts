import {
  type ApprovedCommand,
  type ArgumentKind,
  approvedCommands,
  argumentPatterns,
  type CommandSpendingKind,
} from "./approved-commands.ts";

/** The decision of the hook in Claude Code about a command line that an agent wants to run. */
export type CommandVerdict =
  /** An approved command of swarm. The caller still checks the task files, and the budget if the command spends money. */
  | {
      readonly kind: "allow";
      readonly taskFiles: readonly string[];
      readonly spends: CommandSpendingKind | null;
    }
  /** A dangerous command: Claude Code asks the user, even if the user's permission rules allow the command. */
  | { readonly kind: "ask"; readonly why: string }
  /** A command that the hook does not judge: Claude Code decides as if there were no hook. */
  | { readonly kind: "silent"; readonly why: string };

const maxLength = 2_000;

/** The characters that an approved command may contain. No shell gives any of them a special meaning. */
const plain = /^[A-Za-z0-9_./:=@, -]+$/;

/**
 * Judges a command line. Allows only a line that as a whole parses as an approved command of swarm, because a
 * search for dangerous parts would miss some. `programs` are the absolute paths of the installed `swarm`.
 */
export function approveCommand(command: string, programs: readonly string[]): CommandVerdict {
  const danger = dangerIn(command);
  if (danger !== null) return { kind: "ask", why: danger };
  if (command.length > maxLength) return silent("the command is too long");
  if (!plain.test(command)) return silent("the command has a character that no approved command contains");
  const [program = "", verb = "", ...rest] = command.split(" ");
  if (!program.startsWith("/") || !programs.includes(program))
    return silent("the command's program is not the installed swarm");
  const known = Object.hasOwn(approvedCommands, verb) ? approvedCommands[verb] : undefined;
  if (!known) return silent(`swarm ${verb} is not an approved command`);
  return judgeWords(known, rest);
}

function judgeWords({ flags, words, spends }: ApprovedCommand, rest: readonly string[]): CommandVerdict {
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
 * The search for dangerous actions reads at most this many characters of a command. To the rest, only the
 * user's own permission rules apply.
 */
const maxSearched = 20_000;

/**
 * Returns a dangerous action in a command, such as starting a privileged container, or null. A search is
 * enough here, because a false alarm only asks the user once more. Each search takes linear time, because the
 * command is untrusted.
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
