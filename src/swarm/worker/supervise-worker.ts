import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { isError, requireExpected, type SwarmError } from "../../errors/errors.ts";
import type { AdapterConversation } from "../../protocol/adapter-conversation.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { onAbort } from "../../text/on-abort.ts";
import { stopContainer } from "./ensure-container.ts";
import type { OwnerServices } from "./owner-services.ts";
import { prepareWorker } from "./prepare-worker.ts";
import { recordWorkerEnd } from "./record-worker-end.ts";
import { retryWorkers } from "./retry-workers.ts";
import {
  hasRepeatedExitCode,
  hasRepeatedFailure,
  nextAttemptDelayMs,
  type RetryPolicy,
  restartDelayMs,
} from "./rules/retry-policy.ts";
import { runWorker } from "./run-worker.ts";
import type { ProofSignals } from "./verdict-by-proof.ts";
import type { HaltRequest, UnpreparedWorker } from "./worker.ts";

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

export interface SuperviseOptions extends ProofSignals {
  readonly policy: RetryPolicy;
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
  { policy, halt, stopNow }: SuperviseOptions,
): WorkerHandle {
  const own = new AbortController();
  const supervision = new Supervision(deps, waiting, {
    policy,
    stopNow,
    halt: AbortSignal.any([halt, own.signal]),
  });
  return {
    ended: supervise(),
    stop: (why) => own.abort(why),
    resumed: (pausedMs) => supervision.resumed(pausedMs),
  };

  async function supervise(): Promise<void> {
    using _stopping = onAbort(stopNow, () => void stopContainer(deps, waiting));
    // Asks the agent to end, rather than stopping the container: the worker then keeps its work.
    using _ending = onAbort(deps.networkAccess.accessEnded(waiting.slug), () =>
      own.abort({
        reason: "the worker's or the swarm's budget is used up",
        graceMs: endGraceMs,
      } satisfies HaltRequest),
    );
    await supervision.run();
  }
}

/** The supervision of one attempt of a worker. */
class Supervision {
  readonly #deps: OwnerServices;
  readonly #worker: UnpreparedWorker;
  readonly #options: SuperviseOptions;
  #conversation: AdapterConversation | null = null;

  constructor(deps: OwnerServices, worker: UnpreparedWorker, options: SuperviseOptions) {
    this.#deps = deps;
    this.#worker = worker;
    this.#options = options;
  }

  async resumed(pausedMs: number): Promise<void> {
    await this.#conversation?.resumed(pausedMs);
  }

  async run(): Promise<void> {
    let ended = 0;
    let exitCode: number | null = null;
    for (let interruptions = 1; ; interruptions += 1) {
      const record = await this.#runOnce();
      // If a story has ended since the last interruption, the count of interruptions starts again. Progress
      // within a story does not reset the count, because that story may be what kills the container.
      if (endedStories(record) > ended) {
        interruptions = 1;
        exitCode = null;
      }
      ended = endedStories(record);
      const waitMs = restartDelayMs(record, interruptions, this.#deps.time.random());
      if (record.status === "failed") return this.#startNextAttempt(record);
      if (waitMs === null || this.#options.halt.aborted) return;
      const why = record.reason?.message ?? "";
      if (hasRepeatedExitCode(record, exitCode))
        return this.#emit("given up", { why: `the worker ended twice with the same exit code: ${why}` });
      exitCode = record.exitCode;
      this.#emit("restarted", { why, waitMs });
      if (!(await this.#hasWaited(waitMs))) return;
    }
  }

  /**
   * Runs the worker until its task or its container ends. If the engine becomes unreachable, waits and tries
   * again.
   */
  async #runOnce(): Promise<ContainerRecord> {
    for (let failures = 0; ; failures += 1) {
      try {
        const worker = await prepareWorker(this.#deps, this.#worker);
        if (worker !== null)
          await runWorker(this.#deps, worker, {
            ...this.#options,
            onConversation: (opened) => {
              this.#conversation = opened;
            },
          });
        return await this.#record();
      } catch (error) {
        requireExpected(error);
        if (!isError(error, "ENGINE_UNREACHABLE")) return this.#giveUp(error);
        const waitMs = Math.min(maxWaitMs, 250 * 2 ** Math.min(failures, 10));
        this.#emit("line", { status: "lost", why: error.message });
        if (!(await this.#hasWaited(waitMs))) return this.#record();
      }
    }
  }

  /**
   * Records a worker as stopped after an error that a retry cannot solve. If the worker has already ended,
   * keeps its status, because then only the removal of its container failed.
   */
  async #giveUp({ code, message }: SwarmError): Promise<ContainerRecord> {
    const reason = { code, message };
    if (isTerminalStatus((await this.#record()).status)) this.#emit("kept", { reason });
    else
      await recordWorkerEnd(
        this.#deps,
        this.#worker,
        { status: "stopped", reason },
        { reason, acpPid: null },
      );
    return this.#record();
  }

  async #startNextAttempt(record: ContainerRecord): Promise<void> {
    const { policy, halt } = this.#options;
    const waitMs = nextAttemptDelayMs(record, policy, this.#deps.time.random());
    if (record.attempt < policy.maxAttempts && hasRepeatedFailure(record))
      this.#emit("given up", { why: "the worker failed twice in the same way" });
    if (waitMs === null || halt.aborted) return;
    this.#emit("retried", { attempt: record.attempt + 1, why: record.reason?.message ?? "", waitMs });
    if (await this.#hasWaited(waitMs)) await retryWorkers(this.#deps, [this.#worker.name]);
  }

  /** Waits for `ms` milliseconds. Returns false if the owner halted or had to end before the time was over. */
  async #hasWaited(ms: number): Promise<boolean> {
    const { time } = this.#deps;
    const ending = AbortSignal.any([this.#options.halt, time.signal]);
    try {
      await time.wait(ms, ending);
      return true;
    } catch (error) {
      if (ending.aborted) return false;
      throw error;
    }
  }

  #record(): Promise<ContainerRecord> {
    return this.#deps.store.record(this.#worker.name);
  }

  #emit(event: string, facts: Readonly<Record<string, unknown>>): void {
    this.#deps.events.emit({ event, worker: this.#worker.slug, ...facts });
  }
}

function endedStories({ storyProgress: { completed, failed, skipped } }: ContainerRecord): number {
  return completed + failed + skipped;
}
