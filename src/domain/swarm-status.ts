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
  /** False if the records may be outdated because the engine did not answer. */
  readonly reconciled: boolean;
  readonly corrections: readonly ShownCorrection[];
  /** The names of this worktree's containers that have no record. */
  readonly orphans: readonly string[];
  /** The process that owns the swarm now; null if no process does. */
  readonly owner: LockHolder | null;
}

/**
 * Whether a record needs no comparison with the engine's containers: the worker has no container yet, or is
 * completed, with all work collected.
 */
function isSettled({ status, containerId, creating, collecting, branch }: ContainerRecord): boolean {
  if (containerId === null && creating === null) return status !== "running";
  return status === "completed" && collecting === null && branch?.done !== false;
}

/**
 * Returns whether the status of a swarm needs an engine. With `optional`, the engine only adds information,
 * so the status is also correct without the engine.
 */
export function engineNeed({ engine, containers }: SwarmState): "none" | "optional" | "required" {
  if (!containers.every(isSettled)) return "required";
  return engine === null ? "none" : "optional";
}

/** Whether all workers are completed or failed, so that nothing changes without a command of the user. */
export function areWorkersCompletedOrFailed({ containers }: Pick<SwarmState, "containers">): boolean {
  return containers.every(({ status }) => status === "completed" || status === "failed");
}

/**
 * Returns the corrections that swarm has applied, and those whose records have not changed since the
 * decision.
 */
export function currentCorrections(
  { containers }: Pick<SwarmState, "containers">,
  corrections: readonly ShownCorrection[],
): ShownCorrection[] {
  return corrections.filter(({ container, from, applied }) => {
    const record = containers.find(({ containerName }) => containerName === container);
    return applied || (record?.status === from.status && record.containerId === from.containerId);
  });
}
