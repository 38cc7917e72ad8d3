import type { TaskFile } from "../../contract/tasks.ts";
import { parseAllowList } from "../../egress/allow-list.ts";
import { branchNameHint, findBranchProblem } from "../../git/rules/branch-name.ts";
import { hasControlCharacters, sanitizeText } from "../../text/sanitize-text.ts";
import { findGraphProblems } from "./story-graph.ts";

/**
 * A mistake in a task file that its author must correct; `pointer` is the JSON pointer of the wrong value.
 */
interface TaskFileProblem {
  readonly pointer: string;
  readonly problem: string;
  readonly hint: string;
}

/**
 * Finds mistakes in a task file that the schema cannot express: in names of branches, agents and hosts, and
 * in the dependencies between stories.
 */
export function findTaskFileProblems({ metadata, userStories }: TaskFile): TaskFileProblem[] {
  // The empty list stands for unknown remotes; a later check asks git for them.
  const problems = findBranchProblems(metadata, []);
  const { agent } = metadata;
  const needs = (what: string, hint: string): void => {
    const problem = `an agent of kind ${agent?.kind} needs a ${what}`;
    problems.push({ pointer: "/metadata/agent", problem, hint });
  };
  if ((agent?.kind === "acp" || agent?.kind === "command") && !agent.command)
    needs("command", 'Add "command": ["program", "argument"].');
  if (agent?.kind === "script" && !agent.script) needs("script", 'Add "script": "a path below .aimi/".');
  for (const [index, word] of (metadata.allow ?? []).entries())
    for (const { problem } of parseAllowList([word]).problems)
      problems.push({
        pointer: `/metadata/allow/${index}`,
        // An address with a user name may hold a password, so the message omits it.
        problem: `${JSON.stringify(word.includes("@") ? "…" : sanitizeText(word, 260))} ${problem}`,
        hint: "Use a preset such as npm, or host:port, for example example.org:443.",
      });
  const nodes = userStories.map(({ id, dependsOn }) => ({ name: id, dependsOn: dependsOn ?? [] }));
  for (const { node, dependency, problem, hint } of findGraphProblems(nodes)) {
    const field = dependency === undefined ? "/id" : `/dependsOn/${dependency}`;
    problems.push({ pointer: `/userStories/${node}${field}`, problem, hint });
  }
  return problems;
}

/**
 * Returns the problem of a task file's branch name in a repository with the given remotes; an empty array if
 * the name is valid.
 */
export function findBranchProblems(
  { branchName }: Pick<TaskFile["metadata"], "branchName">,
  remotes: readonly string[],
): TaskFileProblem[] {
  const problem = findBranchProblem(branchName, remotes);
  if (problem === null) return [];
  const pointer = "/metadata/branchName";
  return [{ pointer, problem: `${JSON.stringify(branchName)} ${problem}`, hint: branchNameHint }];
}

/**
 * Finds texts in a task file that look like prompt injections. Unless `--strict` is set, swarm accepts such
 * texts, but the user should review them.
 */
export function findTaskFileWarnings(taskFile: TaskFile): TaskFileProblem[] {
  const steering = findSuspectedInjections(taskFile).map(({ pointer, text }) => ({
    pointer,
    problem: `the text looks like a prompt injection: “${text}”`,
    hint: "Describe the work; --strict refuses such text.",
  }));
  const titles = [
    { pointer: "/metadata/title", text: taskFile.metadata.title },
    ...taskFile.userStories.map(({ title }, index) => ({
      pointer: `/userStories/${index}/title`,
      text: title,
    })),
  ];
  const unclean = titles
    .filter(({ text }) => hasControlCharacters(text))
    .map(({ pointer }) => ({
      pointer,
      problem: "the text contains control characters, which swarm removes when it shows the text",
      hint: "Remove the control characters.",
    }));
  return [...steering, ...unclean];
}

/**
 * A text in a task file that looks like a prompt injection: the text tries to control the agent instead of
 * describing work.
 */
interface SuspectedInjection {
  readonly pointer: string;
  readonly text: string;
}

const patterns: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|all|your|system)\b.{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?)\b/i,
  /(?:^|\n)\s*(?:system|assistant|developer)\s*:/i,
  /<\/?\s*(?:system|assistant|instructions?)\s*>|<\|im_(?:start|end)\|>|\[\/?INST\]/i,
  /\byou are now\b.{0,40}\b(?:unrestricted|jailbroken|in developer mode|DAN)\b/i,
  /\b(?:reveal|print|send|exfiltrate|upload)\b.{0,40}\b(?:api[ _-]?keys?|credentials?|secrets?|tokens?|system prompt)\b/i,
];

/** Finds texts that look like prompt injections among the texts of a task file that an agent will read. */
function findSuspectedInjections({ metadata, userStories }: TaskFile): SuspectedInjection[] {
  const texts: [pointer: string, text: string | null | undefined][] = [["/metadata/title", metadata.title]];
  userStories.forEach((story, index) => {
    const at = `/userStories/${index}`;
    texts.push(
      [`${at}/title`, story.title],
      [`${at}/description`, story.description],
      [`${at}/notes`, story.notes],
    );
    story.acceptanceCriteria.forEach((criterion, number) => {
      texts.push([`${at}/acceptanceCriteria/${number}`, criterion]);
    });
  });
  return texts.flatMap(([pointer, text]) => {
    const match = text && patterns.map((pattern) => pattern.exec(text)).find(Boolean);
    return match ? [{ pointer, text: match[0].trim().slice(0, 120) }] : [];
  });
}
