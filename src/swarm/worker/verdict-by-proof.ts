import type { ProofReport } from "../../contract/proof.ts";
import type { Reason } from "../../contract/swarm-state.ts";
import { requireRecord } from "../../state/rules/swarm-state.ts";
import type { HaltRequest } from "./halt-request.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";
import type { Worker } from "./worker.ts";

export interface WorkerVerdict {
  readonly status: "completed" | "failed" | "stopped";
  readonly reason: Reason | null;
}

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
  deps: SwarmOwnerDeps,
  worker: Worker,
  judged: WorkerVerdict,
  { halt, stopNow }: ProofSignals,
): Promise<WorkerVerdict> {
  if (deps.prove === null) return judged;
  const { collected, attempt } = requireRecord(await deps.read(), worker.name);
  const result = { commit: collected?.commit ?? worker.base, attempt };
  using ending = endOfWaiting(deps, halt, stopNow);
  let proof: ProofReport;
  try {
    proof = await deps.prove(worker, result, ending.signal);
  } catch (error) {
    if (!ending.signal.aborted || deps.signal.aborted) throw error;
    // After a resume, the owner receives the same final message again, and proves the result then.
    const message = "the worker was stopped while swarm was proving the worker's result";
    return { status: "stopped", reason: { code: "INTERRUPTED", message } };
  }
  const { verdict, commit, at, why, weakenedTests } = proof;
  deps.emit({ event: "proved", worker: worker.slug, verdict, why, weakenedTests: weakenedTests.length });
  deps.crashPoint("after-proof-before-record");
  await deps.change(worker.name, (now) => ({ ...now, proof: { verdict, commit, at } }));
  if (verdict !== "broken") return judged;
  return {
    status: "failed",
    reason: { code: "PROOF_FAILED", message: why ?? "a check of the result fails" },
  };
}

/**
 * Returns a signal that ends the wait for a proof at once on `stopNow`, or after the grace time of a halt.
 */
function endOfWaiting(
  { signal, timing }: SwarmOwnerDeps,
  halt: AbortSignal,
  stopNow: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const [late, done] = [new AbortController(), new AbortController()];
  const wait = (): void => {
    const { graceMs } = halt.reason as HaltRequest;
    void timing.wait(graceMs, done.signal).then(
      () => late.abort(),
      () => {},
    );
  };
  if (halt.aborted) wait();
  else halt.addEventListener("abort", wait, { once: true });
  return {
    signal: AbortSignal.any([signal, stopNow, late.signal]),
    [Symbol.dispose]() {
      halt.removeEventListener("abort", wait);
      done.abort();
    },
  };
}
