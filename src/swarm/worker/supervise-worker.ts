import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { AdapterConversation } from "../../protocol/adapter-conversation.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { recordWithStatus, requireRecord } from "../../state/rules/swarm-state.ts";
import { stopContainer } from "./ensure-container.ts";
import type { HaltRequest } from "./halt-request.ts";
import { type OwnerServices, prepareWorker, type UnpreparedWorker } from "./prepare-worker.ts";
import { retryWorkers } from "./retry-workers.ts";
import {
  hasRepeatedExitCode,
  hasRepeatedFailure,
  nextAttemptDelayMs,
  type RetryPolicy,
  restartDelayMs,
} from "./rules/retry-policy.ts";
import { runWorker } from "./run-worker.ts";

/** With this interface, the owner controls a worker that it supervises. */
export interface WorkerHandle {
  /**
   * Resolves when the supervision of the worker's present attempt has ended. If another attempt is due, the
   * state contains it by then, but the attempt does not run yet.
   */
  readonly ended: Promise<void>;
  /** Asks the worker's agent to stop, with the reason and the grace time in `halt`. */
  stop(halt: HaltRequest): void;
  /** Reports to the worker's adapter for how many milliseconds the worker was paused. */
  resumed(pausedMs: number): Promise<void>;
}

export interface SuperviseOptions {
  readonly policy: RetryPolicy;
  readonly halt: AbortSignal;
  readonly stopNow: AbortSignal;
}

/** The maximum time in milliseconds that the owner waits before it calls an unreachable engine again. */
const maxWaitMs = 10_000;
/**
 * The time in milliseconds within which an agent must end after the budget of the worker or of the swarm is
 * used up.
 */
const endGraceMs = 10_000;

/**
 * Supervises one attempt of a worker until it ends. Restarts a container that ends before the adapter's final
 * message, and waits while the engine is unreachable. After a failure, plans another attempt if the retry
 * policy allows one.
 */
export function superviseWorker(
  deps: OwnerServices,
  waiting: UnpreparedWorker,
  options: SuperviseOptions,
): WorkerHandle {
  const own = new AbortController();
  const halt = AbortSignal.any([options.halt, own.signal]);
  let conversation: AdapterConversation | null = null;
  const stopNow = (): void => void stopContainer(deps, waiting);
  const accessEnded = deps.networkAccess.accessEnded(waiting.slug);
  // Asks the agent to end, rather than stopping the container: the worker then keeps its work.
  const endRun = (): void =>
    own.abort({
      reason: "the worker's or the swarm's budget is used up",
      graceMs: endGraceMs,
    } satisfies HaltRequest);
  return {
    ended: supervise().finally(() => {
      options.stopNow.removeEventListener("abort", stopNow);
      accessEnded.removeEventListener("abort", endRun);
    }),
    stop: (why) => own.abort(why),
    resumed: async (pausedMs) => conversation?.resumed(pausedMs),
  };

  async function supervise(): Promise<void> {
    options.stopNow.addEventListener("abort", stopNow, { once: true });
    if (accessEnded.aborted) endRun();
    else accessEnded.addEventListener("abort", endRun, { once: true });
    let ended = 0;
    let exitCode: number | null = null;
    for (let interruptions = 1; ; interruptions += 1) {
      const record = await runOnce();
      // If a story has ended since the last interruption, the count of interruptions starts again. Progress
      // within a story does not reset the count, because that story may be what kills the container.
      if (endedStories(record) > ended) {
        interruptions = 1;
        exitCode = null;
      }
      ended = endedStories(record);
      const waitMs = restartDelayMs(record, interruptions, deps.timing.random());
      if (record.status === "failed") return startNextAttempt(record);
      if (waitMs === null || halt.aborted) return;
      const why = record.reason?.message ?? "";
      if (hasRepeatedExitCode(record, exitCode))
        return deps.emit({
          event: "given up",
          worker: waiting.slug,
          why: `the worker ended twice with the same exit code: ${why}`,
        });
      exitCode = record.exitCode;
      deps.emit({ event: "restarted", worker: waiting.slug, why, waitMs });
      if (!(await hasWaited(waitMs))) return;
    }
  }

  /**
   * Runs the worker until its task or its container ends. If the engine becomes unreachable, waits and tries
   * again.
   */
  async function runOnce(): Promise<ContainerRecord> {
    for (let failures = 0; ; failures += 1) {
      try {
        const worker = await prepareWorker(deps, waiting);
        if (worker !== null)
          await runWorker(deps, worker, {
            halt,
            stopNow: options.stopNow,
            onConversation: (opened) => {
              conversation = opened;
            },
          });
        return requireRecord(await deps.read(), waiting.name);
      } catch (error) {
        if (!(error instanceof SwarmError)) throw error;
        if (!isError(error, "ENGINE_UNREACHABLE")) return giveUp(error);
        const waitMs = Math.min(maxWaitMs, 250 * 2 ** Math.min(failures, 10));
        deps.emit({ event: "line", worker: waiting.slug, status: "lost", why: error.message });
        if (!(await hasWaited(waitMs))) return requireRecord(await deps.read(), waiting.name);
      }
    }
  }

  /**
   * Records a worker as stopped after an error that a retry cannot solve. If the worker has already ended,
   * keeps its status, because then only the removal of its container failed.
   */
  async function giveUp(error: SwarmError): Promise<ContainerRecord> {
    const reason = { code: error.code, message: error.message };
    const { status } = requireRecord(await deps.read(), waiting.name);
    if (isTerminalStatus(status)) deps.emit({ event: "kept", worker: waiting.slug, reason });
    else {
      deps.emit({ event: "ended", worker: waiting.slug, status: "stopped", reason });
      await deps.change(waiting.name, (record) => ({
        ...recordWithStatus(record, "stopped", reason, deps.clock()),
        ...{ reason, acpPid: null },
      }));
    }
    return requireRecord(await deps.read(), waiting.name);
  }

  async function startNextAttempt(record: ContainerRecord): Promise<void> {
    const waitMs = nextAttemptDelayMs(record, options.policy, deps.timing.random());
    if (record.attempt < options.policy.maxAttempts && hasRepeatedFailure(record))
      deps.emit({ event: "given up", worker: waiting.slug, why: "the worker failed twice in the same way" });
    if (waitMs === null || halt.aborted) return;
    const why = record.reason?.message ?? "";
    deps.emit({ event: "retried", worker: waiting.slug, attempt: record.attempt + 1, why, waitMs });
    if (await hasWaited(waitMs)) await retryWorkers(deps, [waiting.name]);
  }

  /**
   * Waits for `ms` milliseconds. Returns false if `halt` or `deps.signal` was aborted before the time was
   * over.
   */
  async function hasWaited(ms: number): Promise<boolean> {
    try {
      await deps.timing.wait(ms, AbortSignal.any([halt, deps.signal]));
      return true;
    } catch (error) {
      if (halt.aborted || deps.signal.aborted) return false;
      throw error;
    }
  }
}

function endedStories({ storyProgress: { completed, failed, skipped } }: ContainerRecord): number {
  return completed + failed + skipped;
}
