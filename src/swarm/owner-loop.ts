import type { SwarmState } from "../contract/swarm-state.ts";
import { alarmAfter } from "../text/alarm.ts";
import { onAbort } from "../text/on-abort.ts";
import { applyOwnerCommands } from "./apply-owner-commands.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import { notifyWhenNextPauseEnds, pauseWorkerIfRateLimited, unpauseDueWorkers } from "./rate-limit-pauses.ts";
import {
  failBlockedWorkers,
  findStartableWorkers,
  haltAfterFailure,
  reportWaiting,
} from "./waiting-workers.ts";
import type { OwnerServices } from "./worker/owner-services.ts";
import type { RetryPolicy } from "./worker/rules/retry-policy.ts";
import { superviseWorker } from "./worker/supervise-worker.ts";
import type { UnpreparedWorker } from "./worker/worker.ts";
import { type SlotOptions, WorkerSlots } from "./worker-slots.ts";

export interface OwnerOptions extends SlotOptions {
  readonly policy: RetryPolicy;
  /**
   * Returns every worker in the given state that has not ended. The owner calls it in each round of its loop,
   * because other processes may add workers.
   */
  readonly waitingIn: (state: SwarmState) => Promise<readonly UnpreparedWorker[]>;
  /**
   * Calls `onChange` whenever another process may have changed the state of the swarm, until the signal is
   * aborted.
   */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

export interface OwnerSignals {
  /**
   * Aborted with a `HaltRequest` when the owner must halt. The owner then starts no more workers, and asks
   * the agents of the running workers to stop.
   */
  readonly halt: AbortSignal;
  /** Aborted when all running workers must stop at once. */
  readonly stopNow: AbortSignal;
  /** Aborted when this process is no longer the owner of the swarm. It then starts no more workers. */
  readonly lost: AbortSignal;
}

/**
 * Runs the owner's loop until no worker is left that could run. The owner starts workers whose dependencies
 * are completed, at most `parallel` at once, and applies the commands of other processes.
 */
export async function runOwnerLoop(
  deps: OwnerServices,
  swarm: OwnerOptions,
  signals: OwnerSignals,
): Promise<SwarmState> {
  const { store } = deps;
  deps.time.crashPoint("owner-loop-begins");
  const ended = new AbortController();
  const halting = new AbortController();
  const halt = AbortSignal.any([signals.halt, halting.signal]);
  const wakeSignal = new WakeSignal();
  const workerSlots = new WorkerSlots(swarm, deps.sandboxes.limits.memoryBytes, halt);
  let isOver = false;
  const owner: OwnerLoopState = {
    running: new Map(),
    waitReasonByName: new Map(),
    startedNames: new Set(),
    isEnding: () => isOver || halt.aborted || signals.lost.aborted,
    halt: (why) => halting.abort(why),
  };
  const failures: unknown[] = [];
  const wake = (): void => wakeSignal.notify();
  swarm.watch(wake, ended.signal);
  using _halted = onAbort(halt, wake);
  using _lost = onAbort(signals.lost, wake);
  try {
    for (;;) {
      const afterCommands = await applyOwnerCommands(deps, owner, await store.read());
      const now = deps.time.clock();
      const afterPauses = await unpauseDueWorkers(deps, owner, afterCommands, now);
      const waiting = await swarm.waitingIn(afterPauses);
      const state = await failBlockedWorkers(deps, waiting, afterPauses, owner);
      if (swarm.policy.failFast && !halt.aborted) haltAfterFailure(deps, state, owner);
      const ready = owner.isEnding()
        ? []
        : findStartableWorkers(waiting, state, owner, { paused: false, now });
      const slots = await workerSlots.slotsFor(ready.length, owner.running, waiting);
      // Asks again, because a command may have ended the swarm while the host was asked for its capacity.
      const isEnding = owner.isEnding();
      let left = state;
      for (const worker of isEnding ? [] : ready.slice(0, slots.free))
        if (await pauseWorkerIfRateLimited(deps, worker)) left = await store.read();
        else begin(worker);
      if (!isEnding) reportWaiting(deps, waiting, left, owner, slots.why);
      const isNoneLeft =
        isEnding || findStartableWorkers(waiting, left, owner, { paused: true, now }).length === 0;
      if (owner.running.size === 0 && isNoneLeft) break;
      using _alarm = notifyWhenNextPauseEnds(deps, left, now, wake);
      using _timer = slots.isToBeAskedAgain ? alarmAfter(swarm.askHostEveryMs, wake) : null;
      await wakeSignal.wait();
    }
  } catch (error) {
    // If the owner fails, it stops its workers first: without an owner, no process would receive their
    // messages.
    owner.halt({ reason: "the owner of the swarm failed", graceMs: 10_000 });
    await Promise.allSettled([...owner.running.values()].map((handle) => handle.ended));
    throw error;
  } finally {
    ended.abort();
  }
  isOver = true;
  await applyOwnerCommands(deps, owner, await store.read());
  if (failures.length > 0) throw failures[0];
  return store.read();

  function begin(worker: UnpreparedWorker): void {
    owner.startedNames.add(worker.name);
    deps.events.emit({ event: "started", worker: worker.slug });
    const handle = superviseWorker(deps, worker, { policy: swarm.policy, halt, stopNow: signals.stopNow });
    owner.running.set(worker.name, handle);
    void handle.ended
      // Keeps the error for the end of the loop: a failure of one worker's supervision does not stop the
      // others.
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        owner.running.delete(worker.name);
        wake();
      });
  }
}

/**
 * Wakes the owner's loop when something may have changed. If it is notified several times while the loop does
 * not wait, the loop wakes only once.
 */
class WakeSignal {
  #notified = Promise.withResolvers<void>();

  notify(): void {
    this.#notified.resolve();
  }

  async wait(): Promise<void> {
    await this.#notified.promise;
    this.#notified = Promise.withResolvers();
  }
}
