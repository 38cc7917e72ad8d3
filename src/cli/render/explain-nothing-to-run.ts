import type { SwarmPlan } from "../../tasks/rules/plan.ts";
import { formatCount } from "../../text/format-count.ts";
import { quoteForShell } from "../../text/quote-for-shell.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import type { Output } from "./output.ts";

type PlannedTask = Pick<SwarmPlan["tasks"][number], "file" | "why">;

/**
 * Explains why none of the tasks in a plan can run, and suggests a command. `named` are the task files that
 * the user named on the command line.
 */
export function explainNothingToRun(
  tasks: readonly PlannedTask[],
  named: readonly string[],
): { readonly why: string; readonly next: string } {
  const [first, ...others] = tasks;
  if (first === undefined)
    return { why: "this repository has no task file", next: "`swarm init` writes an example task file" };
  const again = `\`swarm start ${named.length > 0 ? named.map(quoteForShell).join(" ") : "--all"} --again\``;
  if (others.length === 0)
    return {
      why: `${first.file} ${first.why.replace(/;.*$/, "")}`,
      next: `${again} carries out this task file again`,
    };
  return {
    why: `all ${formatCount(tasks.length, "task file")} were already carried out with the same content`,
    next: `${again} carries out the task files again`,
  };
}

/** Prints that none of the tasks in a plan can run, why, and which command to run instead. */
export function reportNothingToRun(
  output: Pick<Output, "next" | "result">,
  tasks: readonly PlannedTask[],
  named: readonly string[],
): void {
  const { why, next } = explainNothingToRun(tasks, named);
  output.result({ swarm: null }, () => [`Nothing to carry out: ${sanitizeText(why, 300)}.`]);
  output.next(sanitizeText(next, 300));
}
