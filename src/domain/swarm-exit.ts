import { isTerminal } from "./container-status.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { ContainerRecord, SwarmState } from "./generated/swarm-state.ts";

/** Codes of work that ended at a limit: with a higher limit it can continue. */
const limits: readonly string[] = [
  ...["AGENT_LIMIT_REACHED", "BUDGET_EXCEEDED", "CONTAINER_OOM", "DISK_FULL", "PROCESSES_EXHAUSTED"],
  "WORK_TOO_LARGE",
];

/**
 * The exit code of a command that ran or watched these workers: 0 if all are completed, 7 if a limit ended every other
 * one, 8 while some have not ended, 5 if some failed. A worker that was skipped because of one that a limit ended counts
 * as that one.
 */
export function swarmExit({ containers }: Pick<SwarmState, "containers">): ExitCode {
  const others = containers.filter(({ status }) => status !== "completed");
  if (others.length === 0) return exitCodes.done;
  if (areLimited(others)) return exitCodes.limited;
  return others.every(({ status }) => isTerminal(status)) ? exitCodes.workersFailed : exitCodes.stillRunning;
}

/** Whether limits ended all of them. If nothing else failed, a skipped worker can only depend on a limited one. */
function areLimited(records: readonly ContainerRecord[]): boolean {
  const own = records.filter((record) => record.reason?.code !== "DEPENDENCY_FAILED");
  return own.length > 0 && own.every(wasLimited);
}

function wasLimited({ status, reason }: ContainerRecord): boolean {
  return (status === "failed" || status === "stopped") && reason !== null && limits.includes(reason.code);
}
