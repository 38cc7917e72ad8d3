import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import { type ExitCode, exitCodes } from "../../errors/exit-codes.ts";
import { isTerminalStatus } from "./container-status.ts";

/** The error codes that mean that a limit ended the worker. With a higher limit, the worker can continue. */
const limits: readonly string[] = [
  "AGENT_LIMIT_REACHED",
  "BUDGET_EXCEEDED",
  "CONTAINER_OOM",
  "DISK_FULL",
  "PROCESSES_EXHAUSTED",
  "WORK_TOO_LARGE",
];

/**
 * Returns the exit code of a `swarm` command that ran or watched these workers: 0 if all workers are
 * completed, 7 if limits ended all others, 8 if some have not ended, else 5. The first match decides.
 */
export function swarmExitCode({ containers }: Pick<SwarmState, "containers">): ExitCode {
  const others = containers.filter(({ status }) => status !== "completed");
  if (others.length === 0) return exitCodes.done;
  if (areLimited(others)) return exitCodes.limited;
  return others.every(({ status }) => isTerminalStatus(status))
    ? exitCodes.workersFailed
    : exitCodes.stillRunning;
}

/**
 * Whether each of these workers ended because it reached a limit. Workers that were skipped because of a
 * failed dependency do not count.
 */
function areLimited(records: readonly ContainerRecord[]): boolean {
  const own = records.filter(({ reason }) => reason?.code !== "DEPENDENCY_FAILED");
  return (
    own.length > 0 &&
    own.every(
      ({ status, reason }) =>
        (status === "failed" || status === "stopped") && reason !== null && limits.includes(reason.code),
    )
  );
}
