import type { ContainerRecord, ContainerStatus, Reason } from "../../contract/swarm-state.ts";
import type { ObservedContainer } from "../../engine/rules/observed-container.ts";
import { areProcessesExhausted, isGvisorCrash } from "../../engine/rules/process-limits.ts";
import { hasProgramFailedByItself } from "../../engine/rules/program-failed-by-itself.ts";
import { exitCodeByStatus } from "../../protocol/rules/protocol-messages.ts";
import { isTerminalStatus } from "./container-status.ts";

/** Facts that `reconcileRecords` needs besides a worker's record and the worker's container. */
export interface ReconcileFacts {
  readonly isOwnerAlive: boolean;
  /** The commit of the newest checkpoint in the host's copy of the worker's journal. */
  readonly lastCheckpoint: string | null;
}

/**
 * The action that corrects a worker's record. Only the swarm's owner carries out `collect` and `publish`,
 * because these two actions have effects outside the state file.
 */
export type RecordCorrectionAction =
  | { readonly kind: "set-status"; readonly to: ContainerStatus; readonly reason: Reason | null }
  | { readonly kind: "clear-creating" }
  | { readonly kind: "adopt"; readonly containerId: string }
  | { readonly kind: "collect-then-judge" }
  | { readonly kind: "collect" }
  | { readonly kind: "publish" }
  | { readonly kind: "report"; readonly note: string };

/**
 * A correction of a worker's record, with the record's fields from which swarm decided on the correction. If
 * these fields have changed since, the correction is outdated.
 */
export interface RecordCorrection {
  readonly container: string;
  readonly from: Pick<ContainerRecord, "status" | "containerId" | "attempt" | "creating">;
  readonly action: RecordCorrectionAction;
}

/**
 * Compares every worker's record with the engine's container of the same name. Returns corrections of the
 * records, and the names of swarm's containers that have no record.
 */
export function reconcileRecords(
  records: readonly ContainerRecord[],
  observedByName: ReadonlyMap<string, ObservedContainer>,
  contextOf: (record: ContainerRecord) => ReconcileFacts,
): { corrections: RecordCorrection[]; orphans: string[] } {
  const corrections = records.flatMap((record) => {
    const observed = observedByName.get(record.containerName) ?? { kind: "missing", volume: false };
    const { status, containerId, attempt, creating } = record;
    return judge(record, observed, contextOf(record)).map((action) => ({
      container: record.containerName,
      from: { status, containerId, attempt, creating },
      action,
    }));
  });
  const known = new Set(records.map(({ containerName }) => containerName));
  return { corrections, orphans: [...observedByName.keys()].filter((name) => !known.has(name)) };
}

function judge(
  record: ContainerRecord,
  observed: ObservedContainer,
  context: ReconcileFacts,
): RecordCorrectionAction[] {
  if (record.creating) return judgeCreating(observed, context);
  if (observed.kind !== "missing" && !isSameId(record.containerId, observed.containerId))
    return [adoptOrReport(observed)];
  if (observed.kind !== "missing" && !observed.labelsAgree) return [foreign];
  if (isTerminalStatus(record.status)) return judgeFinished(record, observed, context);
  if (observed.kind === "missing") return judgeMissing(record, observed.volume, context);

  switch (observed.kind) {
    case "created":
      if (record.status !== "running") break;
      return [interrupted("the worker's container was created but never started")];
    case "running":
    case "restarting":
      return record.status === "running" ? [] : [{ kind: "set-status", to: "running", reason: null }];
    case "paused":
      if (record.status === "running" && record.paused) return [];
      return [
        { kind: "report", note: "the container was paused, but not by swarm; `swarm resume` unpauses it" },
      ];
    case "exited":
      if (record.status === "stopped") break;
      return [{ kind: "collect-then-judge" }];
    case "removing":
    case "dead":
      if (record.status === "stopped") break;
      return [interrupted(`the engine reports the worker's container as ${observed.kind}`)];
  }
  return collectMissingWork(record, context);
}

/**
 * Whether the container ID in a worker's record is that of the observed container. Users and older tools
 * record only the ID's first twelve digits.
 */
function isSameId(recorded: string | null, observed: string): boolean {
  return recorded !== null && observed.startsWith(recorded);
}

function judgeCreating(
  observed: ObservedContainer,
  { isOwnerAlive }: ReconcileFacts,
): RecordCorrectionAction[] {
  if (isOwnerAlive) return [];
  return observed.kind === "missing" ? [{ kind: "clear-creating" }] : [adoptOrReport(observed)];
}

function judgeMissing(
  record: ContainerRecord,
  volume: boolean,
  context: ReconcileFacts,
): RecordCorrectionAction[] {
  if (record.status === "stopped") return collectMissingWork(record, context);
  if (record.status === "pending" && record.containerId === null) return [];
  const reason = whyContainerLost({ hasVolume: volume });
  return [reason === null ? { kind: "collect-then-judge" } : { kind: "set-status", to: "failed", reason }];
}

/**
 * Returns why a worker without its container is lost; null if the volume with the worker's journal is left,
 * because a new container can then continue the worker.
 */
export function whyContainerLost({ hasVolume }: { readonly hasVolume: boolean }): Reason | null {
  return hasVolume
    ? null
    : { code: "CONTAINER_LOST", message: "the worker's container and its volume no longer exist" };
}

function judgeFinished(
  record: ContainerRecord,
  observed: ObservedContainer,
  context: ReconcileFacts,
): RecordCorrectionAction[] {
  const actions = collectMissingWork(record, context);
  if (["running", "paused", "restarting"].includes(observed.kind))
    actions.unshift({
      kind: "report",
      note: "the worker has finished, but its container is still running; `swarm cleanup` stops the container",
    });
  if (record.status === "completed" && record.branch?.done === false) actions.push({ kind: "publish" });
  return actions;
}

/**
 * Returns the action `collect` if the worker's journal names a commit that swarm has not collected into the
 * host's repository.
 */
function collectMissingWork(
  { collected, status, containerId }: ContainerRecord,
  { lastCheckpoint }: ReconcileFacts,
): RecordCorrectionAction[] {
  if (lastCheckpoint === null || collected?.commit === lastCheckpoint) return [];
  // Without a container there is nothing to collect: the user discarded the container.
  return status === "pending" || containerId === null ? [] : [{ kind: "collect" }];
}

function adoptOrReport(observed: Exclude<ObservedContainer, { kind: "missing" }>): RecordCorrectionAction {
  return observed.labelsAgree ? { kind: "adopt", containerId: observed.containerId } : foreign;
}

const foreign: RecordCorrectionAction = {
  kind: "report",
  note: "the container of this name does not belong to this worker; swarm does not touch the container",
};

function interrupted(message: string): RecordCorrectionAction {
  return { kind: "set-status", to: "stopped", reason: { code: "INTERRUPTED", message } };
}

export interface EndedContainer {
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly runtime: string;
  /**
   * The highest number of processes that the adapter reported (`now`), and the container's limit (`most`).
   * Null if the adapter reported no number.
   */
  readonly processes: { readonly now: number; readonly most: number } | null;
}

/**
 * Decides the final status of a worker's attempt from the last messages of its journal, and from how its
 * container ended.
 */
export function judgeEndedAttempt(
  container: EndedContainer,
  journal: {
    /** The status in the journal's last message if that message is a `completion`; null otherwise. */
    readonly completion: "completed" | "failed" | "stopped" | null;
    readonly error: Reason | null;
  },
): { status: ContainerStatus; reason: Reason | null } {
  const { completion } = journal;
  if (completion !== null) {
    const { exitCode } = container;
    if (exitCode === null || exitCode > 2 || exitCode === exitCodeByStatus[completion])
      return { status: completion, reason: null };
    const message = `the journal reports ${completion}, but the container exited with code ${exitCode}`;
    return { status: "failed", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
  }
  if (container.oomKilled)
    return { status: "failed", reason: { code: "CONTAINER_OOM", message: "the sandbox ran out of memory" } };
  if (journal.error) return { status: "failed", reason: journal.error };
  const used = whyExhausted(container);
  if (used !== null) return { status: "failed", reason: { code: "PROCESSES_EXHAUSTED", message: used } };
  const message = `the container ended with ${container.exitCode ?? "no exit code"} before the worker had finished`;
  return { status: "stopped", reason: { code: "INTERRUPTED", message } };
}

function whyExhausted({ processes, runtime, exitCode }: EndedContainer): string | null {
  if (processes !== null && areProcessesExhausted(processes) && hasProgramFailedByItself(exitCode))
    return `the sandbox ended after it reached its limit of ${processes.most} processes`;
  return isGvisorCrash(runtime, exitCode)
    ? "the sandbox's own kernel (gVisor) ended, probably because too many processes ran"
    : null;
}
