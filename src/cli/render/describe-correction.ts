import type { RecordCorrection } from "../../state/rules/reconcile-records.ts";
import type { ShownRecordCorrection } from "../../state/rules/swarm-status.ts";

/** Describes a difference between a worker's record in the state file and its container in the engine. */
export function describeRecordCorrection({ from, action }: RecordCorrection): string {
  switch (action.kind) {
    case "set-status":
      return `recorded as ${from.status}, should be ${action.to}${action.reason ? ` (${action.reason.code}: ${action.reason.message})` : ""}`;
    case "clear-creating":
      return "the creation of the container was interrupted, and the container does not exist";
    case "adopt":
      return `the worker's container is now ${action.containerId.slice(0, 12)}`;
    case "collect-then-judge":
      return `recorded as ${from.status}, but the container has exited; the worker's commits are not collected yet`;
    case "collect":
      return "the worker has commits that are not collected yet";
    case "publish":
      return "the worker's commits are collected, but the worker's branch does not contain the commits yet";
    case "report":
      return action.note;
  }
}

/**
 * Describes a difference between a worker's record and its container, and who corrects it: swarm already did,
 * the owner will, or the user must run a command.
 */
export function describeShownRecordCorrection(
  correction: ShownRecordCorrection,
  { ownerPid, isOwnEngine }: { readonly ownerPid: number | null; readonly isOwnEngine: boolean },
): string {
  const { action, applied } = correction;
  if (applied) return `corrected: ${describeRecordCorrection(correction)}`;
  switch (action.kind) {
    case "collect-then-judge":
      return ownerPid === null
        ? `${describeRecordCorrection(correction)}: run \`swarm resume\``
        : `the container has exited; the owner (pid ${ownerPid}) is collecting the worker's commits`;
    case "collect":
    case "publish":
      return `${describeRecordCorrection(correction)}: ${ownerPid === null ? "run `swarm resume`" : `the owner (pid ${ownerPid}) will collect the commits and update the worker's branch`}`;
    case "set-status":
    case "clear-creating":
    case "adopt":
      if (ownerPid !== null)
        return `${describeRecordCorrection(correction)}; the owner (pid ${ownerPid}) will correct the record`;
      return `${describeRecordCorrection(correction)}: run \`swarm ${isOwnEngine ? "resume" : "state repair"}\``;
    case "report":
      return describeRecordCorrection(correction);
  }
}
