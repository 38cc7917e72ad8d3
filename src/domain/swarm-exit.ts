import { isTerminal } from "./container-status.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { ContainerRecord, SwarmState } from "./generated/swarm-state.ts";

/** Work that ended because something that was measured out to it was used up: with more of it, it can go on. */
const limits: readonly string[] = [
  ...["AGENT_LIMIT_REACHED", "BUDGET_EXCEEDED", "CONTAINER_OOM", "DISK_FULL", "PROCESSES_EXHAUSTED"],
  "WORK_TOO_LARGE",
];

/**
 * What a command exits with that stayed with these workers: 0 when all are completed, 7 when a limit ended every other
 * one, 8 while some have not come to their end, 5 when some failed. What was skipped because of something that a limit ended
 * counts with it.
 */
export function swarmExit({ containers }: Pick<SwarmState, "containers">): ExitCode {
  const others = containers.filter(({ status }) => status !== "completed");
  if (others.length === 0) return exitCodes.done;
  if (areLimited(others)) return exitCodes.limited;
  return others.every(({ status }) => isTerminal(status)) ? exitCodes.workersFailed : exitCodes.stillRunning;
}

/** Where nothing else failed, only a limit can be what the skipped ones depend on. */
function areLimited(records: readonly ContainerRecord[]): boolean {
  const own = records.filter((record) => record.reason?.code !== "DEPENDENCY_FAILED");
  return own.length > 0 && own.every(wasLimited);
}

function wasLimited({ status, reason }: ContainerRecord): boolean {
  return (status === "failed" || status === "stopped") && reason !== null && limits.includes(reason.code);
}
