import { branchesClash, findBranchProblem } from "./branch-name.ts";
import { cleanText } from "./clean-text.ts";
import { SwarmError } from "./errors.ts";
import type { AgentChoice, TaskFile } from "./generated/tasks.ts";
import { slugOf } from "./slug.ts";

/** The user's request for a task with one story. */
export interface StoryRequest {
  /** The text from `checkedPrompt`. */
  readonly prompt: string;
  readonly branch: string;
  /** Commands that check the work; null for those of the settings. */
  readonly verify: readonly string[] | null;
  readonly agent: AgentChoice;
  /** `YYYY-MM-DD` */
  readonly today: string;
}

/** About as many characters as a command line can carry. */
const maxPromptLength = 120_000;
const maxTitleLength = 200;
const maxDescriptionLength = 500;
/** Leaves room for a number in a slug of 30 characters. */
const maxNameLength = 25;

/** The prompt without spaces around it; throws if it is empty or too long. */
export function checkedPrompt(prompt: string): string {
  const text = prompt.trim();
  if (cleanText(text).trim() === "")
    throw new SwarmError("USAGE", { message: "the prompt is empty: say what is to be done" });
  if (text.length > maxPromptLength)
    throw new SwarmError("USAGE", {
      message: `the prompt has ${text.length} characters, and at most ${maxPromptLength} are taken: put the rest into a file of the repository and name it`,
    });
  return text;
}

/** A task file with the prompt as its only story; a prompt that is too long for the description stands in the notes, in full. */
export function oneStoryTask({ prompt: text, branch, verify, agent, today }: StoryRequest): TaskFile {
  const title = titleOf(text);
  const isShort = text.length <= maxDescriptionLength;
  return {
    schemaVersion: "3.3",
    metadata: {
      ...{ title, branchName: branch, createdAt: today, agent },
      ...(verify && { verify: [...verify] }),
    },
    userStories: [
      {
        ...{ id: "US-001", title, priority: 1 },
        description: isShort ? text : "The notes below say what is to be done.",
        acceptanceCriteria: isShort ? [] : ["What the notes ask for is done"],
        ...(!isShort && { notes: text }),
      },
    ],
  };
}

/** Names for the task file and its branch, one after the other: `fix-the-login`, `fix-the-login-2` … */
export function* promptNames(prompt: string): Generator<string> {
  const name = nameOf(prompt);
  yield name;
  for (let count = 2; ; count += 1) yield `${name}-${count}`;
}

/** The branch of a task without one of its own; null if git cannot store it next to the others. */
export function branchFor(name: string, taken: readonly string[], remotes: readonly string[]): string | null {
  // Next to a branch `swarm` git can store none below it; with a remote `swarm` it would hide the remote's branches.
  const isFree = !taken.includes("swarm") && findBranchProblem(`swarm/${name}`, remotes) === null;
  const branch = isFree ? `swarm/${name}` : `swarm-${name}`;
  return taken.some((other) => branchesClash(other, branch)) ? null : branch;
}

/** The first words, as many as fit. */
function nameOf(prompt: string): string {
  const words = prompt.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word.normalize("NFKD")));
  let name = slugOf(words[0] ?? "")
    .slice(0, maxNameLength)
    .replace(/-+$/, "");
  for (const word of words.slice(1)) {
    const longer = slugOf(`${name} ${word}`);
    if (longer.length > maxNameLength) break;
    name = longer;
  }
  return name;
}

/** The first line, or its first sentence if it is long. */
function titleOf(text: string): string {
  const [line = ""] = text.split("\n").filter((each) => cleanText(each).trim() !== "");
  const [sentence = line] = line.length > maxTitleLength ? line.split(/(?<=[.!?])\s/) : [line];
  return cleanText(sentence, maxTitleLength).trim();
}
