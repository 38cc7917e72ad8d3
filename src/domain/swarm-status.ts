import type { ContainerRecord, SwarmState } from "./generated/swarm-state.ts";
import type { LockHolder } from "./lock-holder.ts";
import type { Correction } from "./reconcile.ts";

/** A correction, and whether the record was changed to it. */
export interface ShownCorrection extends Correction {
  readonly applied: boolean;
}

/** A swarm as it is shown to whoever asks: the records, and how far the engine agrees with them. */
export interface SwarmStatus {
  readonly swarm: SwarmState;
  /** False when the engine that could contradict the records did not answer. */
  readonly reconciled: boolean;
  readonly corrections: readonly ShownCorrection[];
  /** Names of containers of this worktree that no record knows. */
  readonly orphans: readonly string[];
  /** Who acts on the swarm now. */
  readonly owner: LockHolder | null;
}

/** Nothing was ever made for it, or it is completed with all its work at home: no engine can contradict that. */
function isSettled({ status, containerId, creating, collecting, branch }: ContainerRecord): boolean {
  if (containerId === null && creating === null) return status !== "running";
  return status === "completed" && collecting === null && branch?.done !== false;
}

/** How much an engine has to say about a swarm: nothing at all, nothing that could contradict it, or everything. */
export function roleOfEngine({ engine, containers }: SwarmState): "none" | "may speak" | "must answer" {
  if (!containers.every(isSettled)) return "must answer";
  return engine === null ? "none" : "may speak";
}

/** Whether nothing happens any more to any of its workers by itself. */
export function isOver({ containers }: Pick<SwarmState, "containers">): boolean {
  return containers.every(({ status }) => status === "completed" || status === "failed");
}

/** The corrections of a record that has not moved on since they were decided. */
export function stillTrue(
  { containers }: Pick<SwarmState, "containers">,
  corrections: readonly ShownCorrection[],
): ShownCorrection[] {
  return corrections.filter(({ container, from, applied }) => {
    const record = containers.find(({ containerName }) => containerName === container);
    return applied || (record?.status === from.status && record.containerId === from.containerId);
  });
}
