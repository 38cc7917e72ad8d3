import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { LockHolder } from "../../text/lock-holder.ts";
import type { RecordCorrection } from "./reconcile-records.ts";
import { findRecord } from "./swarm-state.ts";

/** A correction of a worker's record, and whether swarm has applied the correction. */
export interface ShownRecordCorrection extends RecordCorrection {
  readonly applied: boolean;
}

/**
 * A swarm as `swarm status` shows it: the workers' records, and how these differ from the engine's
 * containers.
 */
export interface SwarmStatus {
  readonly swarm: SwarmState;
  /**
   * Whether swarm has compared the records with the engine's containers. If not, the records may be outdated.
   */
  readonly reconciled: boolean;
  readonly corrections: readonly ShownRecordCorrection[];
  /** The names of the containers that swarm created for this worktree and that have no record. */
  readonly orphans: readonly string[];
  /** The process that owns the swarm now; null if no process does. */
  readonly owner: LockHolder | null;
}

/**
 * Whether `swarm status` can show a worker's record without asking the engine: the worker has no container
 * yet, or it is completed and all its work is collected.
 */
function isSettled({ status, containerId, creating, collecting, branch }: ContainerRecord): boolean {
  if (containerId === null && creating === null) return status !== "running";
  return status === "completed" && collecting === null && branch?.done !== false;
}

/**
 * Returns whether `swarm status` needs the engine to show this swarm. With `optional`, the status is correct
 * without the engine, which only adds information.
 */
export function engineNeed({ engine, containers }: SwarmState): "none" | "optional" | "required" {
  if (!containers.every(isSettled)) return "required";
  return engine === null ? "none" : "optional";
}

/**
 * Returns the corrections of records that swarm has applied, and those that are still valid, because the
 * record has not changed since swarm decided on the correction.
 */
export function currentRecordCorrections(
  swarm: Pick<SwarmState, "containers">,
  corrections: readonly ShownRecordCorrection[],
): ShownRecordCorrection[] {
  return corrections.filter(({ container, from, applied }) => {
    const record = findRecord(swarm, container);
    return applied || (record?.status === from.status && record.containerId === from.containerId);
  });
}
