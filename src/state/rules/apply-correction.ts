import type { SwarmState } from "../../contract/swarm-state.ts";
import { canChangeStatus } from "./container-status.ts";
import type { RecordCorrection } from "./reconcile-records.ts";
import { findRecord, recordWithStatus, stateWithReplacedRecord } from "./swarm-state.ts";

/**
 * Applies a correction to the record of its container in the swarm's state. Returns the state unchanged if
 * the record has changed in the meantime, or if the correction also requires an action outside the record.
 */
function applyRecordCorrection(
  state: SwarmState,
  { container, from, action }: RecordCorrection,
  now: Date,
): SwarmState {
  const record = findRecord(state, container);
  if (
    !record ||
    (["status", "containerId", "attempt"] as const).some((key) => record[key] !== from[key]) ||
    record.creating?.since !== from.creating?.since
  )
    return state;

  const updatedAt = now.toISOString();
  switch (action.kind) {
    case "set-status": {
      if (!canChangeStatus(record.status, action.to)) return state;
      const moved = recordWithStatus(record, action.to, action.reason, now);
      return stateWithReplacedRecord(state, action.to === "running" ? moved : { ...moved, acpPid: null });
    }
    case "clear-creating":
      return stateWithReplacedRecord(state, { ...record, creating: null, updatedAt });
    case "adopt":
      return stateWithReplacedRecord(state, {
        ...record,
        creating: null,
        containerId: action.containerId,
        updatedAt,
      });
    default:
      return state;
  }
}

/**
 * Applies all corrections that only change records in the state. Returns the new state and the applied
 * corrections.
 */
export function applyRecordCorrections(
  state: SwarmState,
  corrections: readonly RecordCorrection[],
  now: Date,
): { readonly state: SwarmState; readonly applied: readonly RecordCorrection[] } {
  const applied: RecordCorrection[] = [];
  let corrected = state;
  for (const correction of corrections) {
    const next = applyRecordCorrection(corrected, correction, now);
    if (next !== corrected) applied.push(correction);
    corrected = next;
  }
  return { state: corrected, applied };
}
