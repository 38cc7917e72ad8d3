import type { ContainerRecord, SwarmState } from "./generated/swarm-state.ts";
import type { LockHolder } from "./lock-holder.ts";
import type { Correction } from "./reconcile.ts";

/** A correction, and whether it was applied to the record. */
export interface ShownCorrection extends Correction {
  readonly applied: boolean;
}

/** A swarm as `swarm status` shows it: the records, and how far the engine agrees with them. */
export interface SwarmStatus {
  readonly swarm: SwarmState;
  /** False when the engine that could contradict the records did not answer. */
  readonly reconciled: boolean;
  readonly corrections: readonly ShownCorrection[];
  /** Names of containers of this worktree that no record knows. */
  readonly orphans: readonly string[];
  /** The process that owns the swarm now. */
  readonly owner: LockHolder | null;
}

/** Whether no engine can contradict a record: nothing was made for it, or it is completed and all its work is collected. */
function isSettled({ status, containerId, creating, collecting, branch }: ContainerRecord): boolean {
  if (containerId === null && creating === null) return status !== "running";
  return status === "completed" && collecting === null && branch?.done !== false;
}

/** How far a swarm's status depends on an engine: not at all, only for additions, or completely. */
export function engineNeed({ engine, containers }: SwarmState): "none" | "optional" | "required" {
  if (!containers.every(isSettled)) return "required";
  return engine === null ? "none" : "optional";
}

/** Whether all workers have ended, so that nothing changes without a command of the user. */
export function isOver({ containers }: Pick<SwarmState, "containers">): boolean {
  return containers.every(({ status }) => status === "completed" || status === "failed");
}

/** The corrections whose records have not changed since the decision. */
export function currentCorrections(
  { containers }: Pick<SwarmState, "containers">,
  corrections: readonly ShownCorrection[],
): ShownCorrection[] {
  return corrections.filter(({ container, from, applied }) => {
    const record = containers.find(({ containerName }) => containerName === container);
    return applied || (record?.status === from.status && record.containerId === from.containerId);
  });
}
