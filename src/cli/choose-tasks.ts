import { SwarmError, usageError } from "../errors/errors.ts";
import { planStart } from "../swarm/plan-start.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { CommandContext, CommandOptions } from "./flags/command.ts";
import { explainNothingToRun } from "./render/explain-nothing-to-run.ts";
import { alignTable } from "./render/table.ts";

type PlannedTask = Pick<
  SwarmPlan["tasks"][number],
  "file" | "slug" | "title" | "branch" | "action" | "why" | "stories"
>;

const maxAnswers = 3;

/**
 * Returns the task files that the user named, either as arguments or with the former flags `--file` and
 * `--files`.
 */
export function findNamedTaskFiles(words: readonly string[], { file, files }: CommandOptions): string[] {
  const old = [file, ...(typeof files === "string" ? files.split(",") : [])];
  return [...words, ...old.flatMap((each) => (typeof each === "string" && each.trim() ? [each.trim()] : []))];
}

/**
 * Shows the project's task files, asks the user which ones to run, and returns their paths. Throws WOULD_ASK
 * without a terminal.
 */
export async function chooseTasks(
  { project, output }: Pick<CommandContext, "project" | "output">,
  { again, strict }: CommandOptions,
): Promise<readonly string[]> {
  if (!output.canAsk)
    throw new SwarmError("WOULD_ASK", {
      question: "which task files?",
      flag: "the names of task files, or --all",
    });
  const { plan } = await planStart(project, {
    files: [],
    again: again === true,
    strict: strict === true,
  });
  const { tasks } = plan;
  if (!tasks.some(({ action }) => action === "run")) {
    const { why, next } = explainNothingToRun(tasks, []);
    output.note(`Nothing to carry out: ${sanitizeText(why, 300)}.`);
    output.next(next);
    return [];
  }
  for (const line of choiceLines(tasks)) output.note(line);
  let problem = "";
  for (let count = 0; count < maxAnswers; count += 1) {
    const answer = await output.ask(
      "Which task files? Type numbers (1,3 or 1-4), names, or a for all; press only Enter for none:",
    );
    const choice = parseTaskChoice(answer ?? "", tasks);
    if (typeof choice !== "string") {
      if (choice.length === 0)
        output.next(
          "`swarm start --all` carries out all task files, `swarm plan` shows the task files with their stories",
        );
      return choice;
    }
    problem = choice;
    output.note(problem);
  }
  throw usageError(`no task file was chosen: ${problem}`);
}

/** Renders the task files from which the user can choose, one a line and numbered from 1. */
function choiceLines(tasks: readonly PlannedTask[]): string[] {
  return alignTable(
    tasks.map(({ slug, title, branch, action, why, stories }, index) => [
      `${index + 1}`.padStart(`${tasks.length}`.length),
      sanitizeText(slug),
      sanitizeText(title, 60),
      sanitizeText(branch, 60),
      stories.length === 1 ? "1 story" : `${stories.length} stories`,
      action === "skip" ? `skipped: ${sanitizeText(why)}` : "",
    ]),
  );
}

/**
 * Parses the user's answer to the question which tasks to run: numbers, ranges and slugs in any order, or `a`
 * for all tasks that can run. Returns the chosen files, or a text that says what is wrong with the answer.
 */
export function parseTaskChoice(answer: string, tasks: readonly PlannedTask[]): readonly string[] | string {
  const words = answer
    .trim()
    .split(/[\s,]+/)
    .filter(Boolean);
  const chosen = new Set<PlannedTask>();
  for (const word of words) {
    const meant = meantBy(word, tasks);
    if (typeof meant === "string") return meant;
    for (const task of meant) chosen.add(task);
  }
  return tasks.flatMap((task) => (chosen.has(task) ? task.file : []));
}

/**
 * Returns the tasks that one word of the user's answer selects, or an error message if it selects no task
 * that can run.
 */
function meantBy(word: string, tasks: readonly PlannedTask[]): readonly PlannedTask[] | string {
  const runnable = tasks.filter(({ action }) => action === "run");
  if (/^(?:a|all)$/i.test(word)) return runnable;
  const [, from, to] = /^(\d{1,6})-(\d{1,6})$/.exec(word) ?? [];
  if (from !== undefined && to !== undefined) {
    const range = tasks.slice(Math.max(0, Number(from) - 1), Number(to));
    if (Number(from) < 1 || Number(to) > tasks.length || range.length === 0)
      return `${word} is not a range of numbers from 1 to ${tasks.length}`;
    const left = range.filter((task) => runnable.includes(task));
    return left.length > 0
      ? left
      : `all tasks in the range ${word} were already carried out; --again carries them out again`;
  }
  if (/^\d+$/.test(word))
    return one(word, tasks[Number(word) - 1], `the tasks have the numbers 1 to ${tasks.length}`);
  return one(word, bySlug(word, tasks), "the answer is neither the number nor the name of a task");
}

function one(
  word: string,
  task: PlannedTask | undefined,
  otherwise: string,
): readonly PlannedTask[] | string {
  if (!task) return `${sanitizeText(word, 60)}: ${otherwise}`;
  return task.action === "run" ? [task] : `${sanitizeText(task.slug)}: ${sanitizeText(task.why)}`;
}

/**
 * Returns the task with the slug `word`, or else the only task whose slug begins with `word`. Returns
 * undefined if there is no such task or there are several.
 */
function bySlug(word: string, tasks: readonly PlannedTask[]): PlannedTask | undefined {
  const exact = tasks.find(({ slug }) => slug === word);
  const [found, ...more] = tasks.filter(({ slug }) => slug.startsWith(word));
  return exact ?? (more.length === 0 ? found : undefined);
}
