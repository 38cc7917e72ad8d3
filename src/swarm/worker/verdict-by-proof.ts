import type { ProofReport } from "../../contract/proof.ts";
import { onAbort } from "../../text/on-abort.ts";
import type { OwnerServices } from "./owner-services.ts";
import type { WorkerVerdict } from "./record-worker-end.ts";
import type { HaltRequest, Worker } from "./worker.ts";

/** The signals that end the wait for the proof of a worker's result. */
export interface ProofSignals {
  /**
   * Aborted with a `HaltRequest` when the owner must halt. The wait then ends after the grace time in this
   * request.
   */
  readonly halt: AbortSignal;
  readonly stopNow: AbortSignal;
}

/**
 * Proves the result of a completed worker. Returns the verdict `failed` if the proof finds the result broken,
 * else the given verdict. The proof's checks run in sandboxes where no agent ever ran, so they outweigh the
 * worker's own report.
 */
export async function correctVerdictByProof(
  { store, events, time, proofs: { prove } }: OwnerServices,
  worker: Worker,
  judged: WorkerVerdict,
  { halt, stopNow }: ProofSignals,
): Promise<WorkerVerdict> {
  if (prove === null) return judged;
  const { collected, attempt } = await store.record(worker.name);
  const result = { commit: collected?.commit ?? worker.base, attempt };
  const late = new AbortController();
  const done = new AbortController();
  // After a halt, the wait for the proof ends with the grace time of the halt.
  using _halting = onAbort(halt, () => {
    const { graceMs } = halt.reason as HaltRequest;
    void time.wait(graceMs, done.signal).then(
      () => late.abort(),
      () => {},
    );
  });
  const ending = AbortSignal.any([time.signal, stopNow, late.signal]);
  let proof: ProofReport;
  try {
    proof = await prove(worker, result, ending);
  } catch (error) {
    if (!ending.aborted || time.signal.aborted) throw error;
    // After a resume, the owner receives the same final message again, and proves the result then.
    const message = "the worker was stopped while swarm was proving the worker's result";
    return { status: "stopped", reason: { code: "INTERRUPTED", message } };
  } finally {
    done.abort();
  }
  const { verdict, commit, at, why, weakenedTests } = proof;
  events.emit({ event: "proved", worker: worker.slug, verdict, why, weakenedTests: weakenedTests.length });
  time.crashPoint("after-proof-before-record");
  await store.change(worker.name, (now) => ({ ...now, proof: { verdict, commit, at } }));
  if (verdict !== "broken") return judged;
  return {
    status: "failed",
    reason: { code: "PROOF_FAILED", message: why ?? "a check of the result fails" },
  };
}
