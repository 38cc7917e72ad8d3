import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import { workerSlug } from "../../text/slugs.ts";

export interface WaitingReasonInput {
  /** The names of the task files on whose results the worker's task depends. */
  readonly dependsOn: readonly string[];
  readonly isOwned: boolean;
  readonly now: Date;
}

/**
 * Returns what a worker waits for, for example another worker or the end of a pause. Null if the worker does
 * not wait, or if swarm knows no reason.
 */
export function findWaitingReason(
  record: ContainerRecord,
  swarm: Pick<SwarmState, "containers" | "wish">,
  { dependsOn, isOwned, now }: WaitingReasonInput,
): string | null {
  const { status, paused, wish, creating } = record;
  if (status === "completed" || status === "failed") return wish === "retry" ? "a retry was requested" : null;
  if (paused !== null && paused.until === null) return `paused: ${paused.reason}`;
  // The owner removes a pause some time after its end, so an expired pause does not count here.
  if (paused?.until && Date.parse(paused.until) > now.getTime())
    return `paused until ${paused.until}: ${paused.reason}`;
  const pendingCommand = wish ?? swarm.wish;
  if (pendingCommand !== null) return `the command \`${pendingCommand}\` is pending`;
  if (status !== "pending") return null;
  const open = swarm.containers.filter(
    (other) => other.status !== "completed" && dependsOn.includes(other.taskFilePath.split("/").at(-1) ?? ""),
  );
  if (open.length > 0) return `waits for ${open.map(workerSlug).join(", ")}`;
  if (creating !== null && isOwned) return "the owner is creating the worker's container";
  return isOwned ? "waits for a free worker slot" : null;
}
