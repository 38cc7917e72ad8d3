import { canChangeStatus } from "./container-status.ts";
import type { SwarmState } from "./generated/swarm-state.ts";
import type { Correction } from "./reconcile.ts";
import { withReplacedRecord, withStatus } from "./swarm-state.ts";

/**
 * Applies a correction to the record of its container in the swarm's state. Returns the state unchanged if
 * the record has changed in the meantime, or if the correction also requires an action outside the record.
 */
export function applyCorrection(
  state: SwarmState,
  { container, from, action }: Correction,
  now: Date,
): SwarmState {
  const record = state.containers.find(({ containerName }) => containerName === container);
  const movedOn =
    !record ||
    record.status !== from.status ||
    record.containerId !== from.containerId ||
    record.attempt !== from.attempt ||
    record.creating?.since !== from.creating?.since;
  if (movedOn) return state;

  const updatedAt = now.toISOString();
  switch (action.kind) {
    case "set-status": {
      if (!canChangeStatus(record.status, action.to)) return state;
      const moved = withStatus(record, action.to, action.reason, now);
      return withReplacedRecord(state, action.to === "running" ? moved : { ...moved, acpPid: null });
    }
    case "clear-creating":
      return withReplacedRecord(state, { ...record, creating: null, updatedAt });
    case "adopt":
      return withReplacedRecord(state, {
        ...record,
        creating: null,
        containerId: action.containerId,
        updatedAt,
      });
    case "collect-then-judge":
    case "collect":
    case "publish":
    case "report":
      return state;
  }
}

/**
 * Applies all corrections that only change records in the state. Returns the new state and the applied
 * corrections.
 */
export function applyCorrections(
  state: SwarmState,
  corrections: readonly Correction[],
  now: Date,
): { readonly state: SwarmState; readonly applied: readonly Correction[] } {
  const applied: Correction[] = [];
  let corrected = state;
  for (const correction of corrections) {
    const next = applyCorrection(corrected, correction, now);
    if (next !== corrected) applied.push(correction);
    corrected = next;
  }
  return { state: corrected, applied };
}
