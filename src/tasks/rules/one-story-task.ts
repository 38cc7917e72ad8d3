import type { AgentChoice, TaskFile } from "../../contract/tasks.ts";
import { SwarmError } from "../../errors/errors.ts";
import { branchNamesClash, findBranchProblem } from "../../git/rules/branch-name.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { slugOfTaskFile } from "../../text/slugs.ts";

/** The input from which swarm makes a task with one story. */
interface OneStoryTaskRequest {
  /** The user's prompt, already checked and trimmed by `requireValidPrompt`. */
  readonly prompt: string;
  readonly branch: string;
  /** Shell commands that check the agent's work; null to use the commands from the settings. */
  readonly verify: readonly string[] | null;
  readonly agent: AgentChoice;
  /** Today's date as `YYYY-MM-DD`. */
  readonly today: string;
}

/**
 * The maximum number of characters of a prompt. Linux accepts at most 128 KiB as one command-line argument.
 */
const maxPromptLength = 120_000;
const maxTitleLength = 200;
const maxDescriptionLength = 500;
/**
 * The maximum number of characters of a name that swarm derives from a prompt. The limit leaves room for a
 * suffix such as `-12`.
 */
const maxNameLength = 25;

/** Returns the prompt without spaces at its ends; throws if the prompt is empty or too long. */
export function requireValidPrompt(prompt: string): string {
  const text = prompt.trim();
  if (sanitizeText(text).trim() === "")
    throw new SwarmError("USAGE", { message: "the prompt is empty: describe the work" });
  if (text.length > maxPromptLength)
    throw new SwarmError("USAGE", {
      message: `the prompt has ${text.length} characters, but swarm accepts at most ${maxPromptLength}: put the rest into a file of the repository, and name that file in the prompt`,
    });
  return text;
}

/**
 * Makes a task file whose only story is the prompt. If the prompt is too long for the story's description,
 * the story's notes hold the prompt.
 */
export function oneStoryTask({ prompt: text, branch, verify, agent, today }: OneStoryTaskRequest): TaskFile {
  const title = titleOf(text);
  const isShort = text.length <= maxDescriptionLength;
  return {
    schemaVersion: "3.3",
    metadata: {
      title,
      branchName: branch,
      createdAt: today,
      agent,
      ...(verify && { verify: [...verify] }),
    },
    userStories: [
      {
        id: "US-001",
        title,
        priority: 1,
        description: isShort ? text : "The notes below describe the work.",
        acceptanceCriteria: isShort ? [] : ["The work that the notes describe is done"],
        ...(!isShort && { notes: text }),
      },
    ],
  };
}

/**
 * Yields names for the task file and its branch until the caller accepts one, for example `fix-the-login`,
 * then `fix-the-login-2` …
 */
export function* candidateTaskNames(prompt: string): Generator<string> {
  const name = nameOf(prompt);
  yield name;
  for (let count = 2; ; count += 1) yield `${name}-${count}`;
}

/**
 * Derives a branch name such as `swarm/fix-the-login` from a task's name. Returns null if this branch would
 * clash with an existing branch.
 */
export function defaultBranchName(
  name: string,
  taken: readonly string[],
  remotes: readonly string[],
): string | null {
  // git cannot store `swarm/x` if a branch `swarm` exists. If a remote is called `swarm`, `swarm/x` would
  // hide the remote's branch.
  const isFree = !taken.includes("swarm") && findBranchProblem(`swarm/${name}`, remotes) === null;
  const branch = isFree ? `swarm/${name}` : `swarm-${name}`;
  return taken.some((other) => branchNamesClash(other, branch)) ? null : branch;
}

/** Builds a task's name from as many first words of the prompt as fit into `maxNameLength`. */
function nameOf(prompt: string): string {
  const words = prompt.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word.normalize("NFKD")));
  let name = slugOfTaskFile(words[0] ?? "")
    .slice(0, maxNameLength)
    .replace(/-+$/, "");
  for (const word of words.slice(1)) {
    const longer = slugOfTaskFile(`${name} ${word}`);
    if (longer.length > maxNameLength) break;
    name = longer;
  }
  return name;
}

/**
 * Returns the first line of the prompt as the task's title. If the line is too long, returns only its first
 * sentence.
 */
function titleOf(text: string): string {
  const [line = ""] = text.split("\n").filter((each) => sanitizeText(each).trim() !== "");
  const [sentence = line] = line.length > maxTitleLength ? line.split(/(?<=[.!?])\s/) : [line];
  return sanitizeText(sentence, maxTitleLength).trim();
}
