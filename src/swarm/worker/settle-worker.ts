import type { Reason } from "../../contract/swarm-state.ts";
import type { AdapterConversationEnd } from "../../protocol/adapter-conversation.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { recordWithStatus } from "../../state/rules/swarm-state.ts";
import { removeWorkerContainerAndVolumes, stopWorker } from "./ensure-container.ts";
import { publishWorkAsBranch } from "./import-commits.ts";
import { judgeWorkerEnd } from "./judge-worker-end.ts";
import type { OwnerServices } from "./owner-services.ts";
import { recordWorkerEnd } from "./record-worker-end.ts";
import { correctVerdictByProof, type ProofSignals } from "./verdict-by-proof.ts";
import type { Worker } from "./worker.ts";

export interface ConversationResult {
  readonly end: AdapterConversationEnd;
  /** Whether all git bundles that the adapter stored were imported. */
  readonly isAllHere: boolean;
}

/** Records how the worker ended, and then stops or removes its container. */
export async function settleWorker(
  deps: OwnerServices,
  worker: Worker,
  { end, isAllHere }: ConversationResult,
  signals: ProofSignals,
): Promise<void> {
  const { store, networkAccess, proofs, time } = deps;
  await networkAccess.waitForRecords(worker);
  const record = await store.record(worker.name);
  const accessEnd = accessEndReason(deps, worker);
  const found = judgeWorkerEnd(record, end, deps.sandboxes.runtime);
  // If the network access had ended before the worker failed, the agent's own errors are only its
  // consequences.
  const judged =
    accessEnd === null || found.status === "completed"
      ? found
      : ({ status: "failed", reason: accessEnd } as const);
  time.crashPoint("after-completion-before-record");
  const { status, reason } =
    judged.status === "completed" ? await correctVerdictByProof(deps, worker, judged, signals) : judged;
  deps.events.emit({ event: "ended", worker: worker.slug, status, reason });
  if (status === "completed") await publishWorkAsBranch(deps, worker);
  // Writes the ledger before the record. If the owner crashes in between, the next owner repeats both, and no
  // later swarm repeats the task.
  if (status !== "stopped") await deps.tasks.addToLedger(worker, status);
  await store.change(worker.name, (now) => ({
    ...recordWithStatus(now, status, reason, time.clock()),
    reason,
    acpPid: null,
    exitCode: end.kind === "exited" ? end.exitCode : end.kind === "gone" ? null : now.exitCode,
  }));
  if (status === "stopped") return networkAccess.close(worker, { isGone: false });
  // Keeps the container if there is no trusted final message: its volume may then have the only copy of some
  // work.
  const hasFinalMessage =
    end.kind === "error" ||
    (end.kind === "completion" && (accessEnd !== null || end.message.payload.status === judged.status));
  if (!isAllHere || !hasFinalMessage) return stopWorker(deps, worker);
  // With proofs, the home volume stays: a later rework may return the result to its agent, which needs its
  // conversation there.
  const withHome = status === "completed" && proofs.prove === null;
  await removeWorkerContainerAndVolumes(deps, worker, { withHome, halt: signals.halt });
}

/** Records a worker as failed if it could not start because its network access has ended for good. */
export async function failUnstartedWorker(deps: OwnerServices, worker: Worker): Promise<void> {
  const reason = accessEndReason(deps, worker);
  const { status } = await deps.store.record(worker.name);
  if (reason !== null && !isTerminalStatus(status))
    await recordWorkerEnd(deps, worker, { status: "failed", reason });
}

/**
 * Returns why the worker's network access has ended for good, for example because its budget is used up; null
 * if it has not ended.
 */
function accessEndReason({ networkAccess }: OwnerServices, { slug }: Worker): Reason | null {
  const accessEnded = networkAccess.accessEnded(slug);
  return accessEnded.aborted ? (accessEnded.reason as Reason) : null;
}
