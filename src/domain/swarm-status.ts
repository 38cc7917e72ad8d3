import type { ContainerRecord, SwarmState } from "./generated/swarm-state.ts";
import type { LockHolder } from "./lock-holder.ts";
import type { Correction } from "./reconcile.ts";

/** A correction of a record, and whether swarm has applied it. */
export interface ShownCorrection extends Correction {
  readonly applied: boolean;
}

/** A swarm as `swarm status` shows it: the records, and their differences from the engine's containers. */
export interface SwarmStatus {
  readonly swarm: SwarmState;
  /** False if the engine that could contradict the records did not answer. */
  readonly reconciled: boolean;
  readonly corrections: readonly ShownCorrection[];
  /** The names of this worktree's containers that have no record. */
  readonly orphans: readonly string[];
  /** The process that owns the swarm now; null if none does. */
  readonly owner: LockHolder | null;
}

/**
 * Whether the engine cannot contradict a record: the worker has no container yet, or it is completed and all
 * its work is collected.
 */
function isSettled({ status, containerId, creating, collecting, branch }: ContainerRecord): boolean {
  if (containerId === null && creating === null) return status !== "running";
  return status === "completed" && collecting === null && branch?.done !== false;
}

/**
 * Tells whether a swarm's status needs an engine: `none` if not at all, `optional` if only for additions,
 * else `required`.
 */
export function engineNeed({ engine, containers }: SwarmState): "none" | "optional" | "required" {
  if (!containers.every(isSettled)) return "required";
  return engine === null ? "none" : "optional";
}

/** Whether all workers are completed or failed, so that nothing changes without a command of the user. */
export function areWorkersCompletedOrFailed({ containers }: Pick<SwarmState, "containers">): boolean {
  return containers.every(({ status }) => status === "completed" || status === "failed");
}

/** Returns the corrections whose records have not changed since the decision. */
export function currentCorrections(
  { containers }: Pick<SwarmState, "containers">,
  corrections: readonly ShownCorrection[],
): ShownCorrection[] {
  return corrections.filter(({ container, from, applied }) => {
    const record = containers.find(({ containerName }) => containerName === container);
    return applied || (record?.status === from.status && record.containerId === from.containerId);
  });
}
