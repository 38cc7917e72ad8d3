import { usageError } from "../../../errors/errors.ts";
import { planStart } from "../../../swarm/plan-start.ts";
import type { SwarmPlan } from "../../../tasks/rules/plan.ts";
import { formatCount } from "../../../text/format-count.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { type CommandHandler, variadicArgumentAt } from "../../flags/command.ts";
import { planAccessLines } from "../../render/plan-notes.ts";
import type { TextFormatter } from "../../render/text-formatter.ts";

export const planCommand: CommandHandler = async ({ project, output }, args, { again, strict, all }) => {
  const files = variadicArgumentAt(args, 0);
  if (all && files.length > 0) throw usageError("--all and the names of task files exclude each other");
  const { plan: planned } = await planStart(project, {
    files,
    again: again === true,
    strict: strict === true,
  });
  output.result(planned, () => lines(planned, output.paint));
  for (const warning of planned.warnings) output.note(`warning: ${sanitizeText(warning, 1000)}`);
  output.next(
    planned.tasks.length === 0
      ? "`swarm init` writes an example task file"
      : "`swarm start --all` carries out these task files; `swarm doctor` checks whether this machine can run the task files",
  );
};

function lines(planned: SwarmPlan, paint: TextFormatter): string[] {
  const { base, parallel, isolation, network, limits, tasks } = planned;
  const running = tasks.filter(({ action }) => action === "run").length;
  const head = [
    `${formatCount(tasks.length, "task file")}, ${running} to run, ${parallel.workers} at a time (${parallel.why})`,
    `base ${base?.slice(0, 12) ?? "none"}, isolation ${isolation}, network ${networkWords(network)}, ${limits.cpus} CPUs, ${limits.memory} memory, ${limits.disk} disk`,
    ...planAccessLines(planned),
  ];
  const body = tasks.flatMap((task) => [
    "",
    `${paint.bold(sanitizeText(task.slug))}  ${task.action === "run" ? "run" : "skip"}: ${sanitizeText(task.why)}`,
    `  ${sanitizeText(task.title)}`,
    `  ${sanitizeText(task.file)} → ${sanitizeText(task.branch)}, agent ${task.agent}, from ${sanitizeText(task.base)}`,
    `  at most ${task.timeout}${task.budgetUsd === null ? "" : ` and $${task.budgetUsd}`}${reach(task.allow)}${task.image ? `, image ${sanitizeText(task.image)} (not used: workers run in the project's image)` : ""}`,
    ...(task.checks.length > 0
      ? [`  checks after each story: ${task.checks.map((check) => sanitizeText(check, 80)).join("; ")}`]
      : []),
    ...task.stories.map(
      (story, index) =>
        `  ${String(index + 1).padStart(2)}. ${story.id} ${sanitizeText(story.title, 100)}${after(story.after)}${checked(story.checks)}`,
    ),
  ]);
  return [...head, ...body];
}

function reach(allow: readonly string[]): string {
  return allow.length > 0 ? `, may reach ${allow.map((host) => sanitizeText(host)).join(", ")}` : "";
}

function after(ids: readonly string[]): string {
  return ids.length > 0 ? ` (after ${ids.join(", ")})` : "";
}

function checked(checks: readonly string[]): string {
  return checks.length > 0 ? ` [${formatCount(checks.length, "check")}]` : "";
}

/**
 * Describes a plan's setting `network`. For `gateway`, names both ways in which workers may reach it, because
 * the owner chooses one only when the swarm starts.
 */
function networkWords(network: string): string {
  if (network !== "gateway") return network;
  return "gateway (each worker reaches it over a socket, without any network, if the runtime allows this; otherwise over a private network of the worker and the gateway)";
}
