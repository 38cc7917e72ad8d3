import type { Correction } from "../domain/reconcile.ts";
import type { ShownCorrection } from "../domain/swarm-status.ts";

/** Describes a difference between the recorded state and the engine. */
export function describeCorrection({ from, action }: Correction): string {
  switch (action.kind) {
    case "set-status":
      return `${from.status}, should be ${action.to}${action.reason ? ` (${action.reason.code}: ${action.reason.message})` : ""}`;
    case "clear-creating":
      return "its creation was cut off and left nothing";
    case "adopt":
      return `it is now container ${action.containerId.slice(0, 12)}`;
    case "collect-then-judge":
      return `${from.status}, but its container has ended; its work waits to be collected`;
    case "collect":
      return "has work that is not collected yet";
    case "publish":
      return "is collected, but its branch was not moved yet";
    case "report":
      return action.note;
  }
}

/**
 * Describes a difference and its remedy: swarm has corrected it, the owner will correct it, or the user must
 * type a command.
 */
export function describeShown(
  correction: ShownCorrection,
  { ownerPid, isOwnEngine }: { readonly ownerPid: number | null; readonly isOwnEngine: boolean },
): string {
  const { action, applied } = correction;
  if (applied) return `corrected: ${describeCorrection(correction)}`;
  switch (action.kind) {
    case "collect-then-judge":
      return ownerPid === null
        ? `${describeCorrection(correction)}: run \`swarm resume\``
        : `its container has exited, being collected by pid ${ownerPid}`;
    case "collect":
    case "publish":
      return `${describeCorrection(correction)}: ${ownerPid === null ? "run `swarm resume`" : `left to pid ${ownerPid}`}`;
    case "set-status":
    case "clear-creating":
    case "adopt":
      if (ownerPid !== null) return `${describeCorrection(correction)}; pid ${ownerPid} will correct it`;
      return `${describeCorrection(correction)}: run \`swarm ${isOwnEngine ? "resume" : "state repair"}\``;
    case "report":
      return describeCorrection(correction);
  }
}
