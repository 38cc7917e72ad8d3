import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { recordWithStatus } from "../state/rules/swarm-state.ts";
import {
  chooseMaxParallelWorkers,
  type HostCapacity,
  isParallelismLimitedByOtherSandboxes,
} from "../tasks/rules/parallel-workers.ts";
import { workerSlug } from "../text/slugs.ts";
import { applyOwnerCommands } from "./apply-owner-commands.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import { notifyWhenNextPauseEnds, pauseWorkerIfRateLimited, unpauseDueWorkers } from "./rate-limit-pauses.ts";
import type { OwnerServices, UnpreparedWorker } from "./worker/prepare-worker.ts";
import type { RetryPolicy } from "./worker/rules/retry-policy.ts";
import { superviseWorker } from "./worker/supervise-worker.ts";
import type { SwarmOwnerDeps } from "./worker/swarm-owner-deps.ts";

export interface OwnerOptions {
  /**
   * The maximum number of workers that run at once. With `auto`, the memory and CPUs of the engine's host set
   * the maximum.
   */
  readonly parallel: number | "auto";
  /**
   * Reads the memory and CPUs of the engine's host that this swarm may use now. The owner calls it only if
   * `parallel` is `auto`.
   */
  readonly hostCapacity: (signal: AbortSignal) => Promise<HostCapacity>;
  /**
   * The interval in milliseconds at which the owner calls `hostCapacity` again while its workers wait for
   * memory and CPUs that other sandboxes may free.
   */
  readonly askHostEveryMs: number;
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
  const ended = new AbortController();
  const halting = new AbortController();
  const halt = AbortSignal.any([signals.halt, halting.signal]);
  const wakeSignal = new WakeSignal();
  let capacity: HostCapacity | null = null;
  let hostAskedAtMs = Number.NEGATIVE_INFINITY;
  let isOver = false;
  const owner: OwnerLoopState = {
    ...{ running: new Map(), waitReasonByName: new Map(), startedNames: new Set() },
    isEnding: () => isOver || halt.aborted || signals.lost.aborted,
    halt: (why) => halting.abort(why),
  };
  const failures: unknown[] = [];
  const wake = (): void => wakeSignal.notify();
  swarm.watch(wake, ended.signal);
  for (const signal of [halt, signals.lost]) signal.addEventListener("abort", wake, { once: true });
  try {
    for (;;) {
      const afterCommands = await applyOwnerCommands(deps, owner, await deps.read());
      const now = deps.clock();
      const afterPauses = await unpauseDueWorkers(deps, owner, afterCommands, now);
      const waiting = await swarm.waitingIn(afterPauses);
      const state = await failBlocked(deps, waiting, afterPauses, owner);
      if (swarm.policy.failFast && !halt.aborted) haltAfterFailure(deps, state, owner);
      const ready = owner.isEnding() ? [] : readyWorkers(waiting, state, owner, now);
      const slots = await slotsFor(ready, waiting);
      // Asks again, because a command may have ended the swarm while the host was asked for its capacity.
      const isEnding = owner.isEnding();
      let left = state;
      for (const worker of isEnding ? [] : ready.slice(0, slots.free))
        if (await pauseWorkerIfRateLimited(deps, worker)) left = await deps.read();
        else begin(worker);
      if (!isEnding) reportWaiting(deps, waiting, left, owner, slots.why);
      if (owner.running.size === 0 && (isEnding || !isAnyPaused(waiting, left, owner, now))) break;
      using _alarm = notifyWhenNextPauseEnds(deps, left, now, wake);
      using _timer = slots.isToBeAskedAgain ? wakeAfter(swarm.askHostEveryMs, wake) : null;
      await wakeSignal.wait();
    }
  } catch (error) {
    // If the owner fails, it stops its workers first: without an owner, no process would receive their
    // messages.
    owner.halt({ reason: "the owner of the swarm failed", graceMs: 10_000 });
    await Promise.all([...owner.running.values()].map(({ ended: end }) => end.catch(() => {})));
    throw error;
  } finally {
    ended.abort();
    for (const signal of [halt, signals.lost]) signal.removeEventListener("abort", wake);
  }
  isOver = true;
  await applyOwnerCommands(deps, owner, await deps.read());
  if (failures.length > 0) throw failures[0];
  return deps.read();

  /** Returns how many of the ready workers may start now, and why the others must wait. */
  async function slotsFor(
    ready: readonly UnpreparedWorker[],
    waiting: readonly UnpreparedWorker[],
  ): Promise<Slots> {
    if (ready.length === 0) return { free: 0, why: freeSlot, isToBeAskedAgain: false };
    const { parallel } = swarm;
    if (parallel === "auto") capacity = await askHost();
    const settings = { parallel, memoryBytes: deps.limits.memoryBytes };
    const tasks = waiting.map(({ task }) => task);
    const { workers } = chooseMaxParallelWorkers(tasks, settings, capacity);
    const free = Math.max(0, workers - owner.running.size);
    const isHeldBack = free < ready.length && isParallelismLimitedByOtherSandboxes(tasks, settings, capacity);
    return {
      free,
      why: isHeldBack ? "for memory and CPUs that other sandboxes may be using" : freeSlot,
      isToBeAskedAgain: isHeldBack || (parallel === "auto" && capacity === null),
    };
  }

  /**
   * Reads the memory and CPUs that this swarm may use on the engine's host, at most once a second. Otherwise,
   * or if the engine does not answer, returns the values of the last read.
   */
  async function askHost(): Promise<HostCapacity | null> {
    if (performance.now() - hostAskedAtMs < Math.min(freshMs, swarm.askHostEveryMs)) return capacity;
    hostAskedAtMs = performance.now();
    try {
      return await swarm.hostCapacity(halt);
    } catch (error) {
      if (!(error instanceof SwarmError) && !halt.aborted) throw error;
      return capacity;
    }
  }

  function begin(worker: UnpreparedWorker): void {
    owner.startedNames.add(worker.name);
    deps.emit({ event: "started", worker: worker.slug });
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

const freshMs = 1_000;
const freeSlot = "for a free slot";

interface Slots {
  readonly free: number;
  readonly why: string;
  /**
   * Whether the owner must read the host's capacity again later, because other sandboxes may free memory and
   * CPUs.
   */
  readonly isToBeAskedAgain: boolean;
}

function wakeAfter(ms: number, wake: () => void): Disposable {
  const timer = setTimeout(wake, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
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

const recordIn = (state: SwarmState, name: string): ContainerRecord | undefined =>
  state.containers.find(({ containerName }) => containerName === name);

function readyWorkers(
  waiting: readonly UnpreparedWorker[],
  state: SwarmState,
  { startedNames }: OwnerLoopState,
  now: Date,
): UnpreparedWorker[] {
  return waiting.filter(
    ({ name, dependsOn }) =>
      !startedNames.has(name) && isReady(state, name, dependsOn) && !isPaused(state, name, now),
  );
}

/** Returns whether at least one worker could start as soon as its pause ends. */
function isAnyPaused(
  waiting: readonly UnpreparedWorker[],
  state: SwarmState,
  { startedNames }: OwnerLoopState,
  now: Date,
): boolean {
  return waiting.some(
    ({ name, dependsOn }) =>
      !startedNames.has(name) && isReady(state, name, dependsOn) && isPaused(state, name, now),
  );
}

function isReady(state: SwarmState, name: string, dependsOn: readonly string[]): boolean {
  const record = recordIn(state, name);
  if (!record || isTerminalStatus(record.status)) return false;
  return dependsOn.every((other) => recordIn(state, other)?.status === "completed");
}

/**
 * Returns whether a worker is paused now. A pause whose end has passed does not count; its entry in the
 * record is removed when the worker starts.
 */
function isPaused(state: SwarmState, name: string, now: Date): boolean {
  const paused = recordIn(state, name)?.paused;
  return paused != null && (paused.until === null || Date.parse(paused.until) > now.getTime());
}

/** Reports to the user why each worker waits, but only if the reason has changed since the last report. */
function reportWaiting(
  { emit, clock }: SwarmOwnerDeps,
  waiting: readonly UnpreparedWorker[],
  state: SwarmState,
  { startedNames, waitReasonByName }: OwnerLoopState,
  whyNoSlot: string,
): void {
  for (const { name, slug, dependsOn } of waiting) {
    if (startedNames.has(name)) continue;
    const open = dependsOn
      .map((other) => recordIn(state, other))
      .find((record) => record && record.status !== "completed");
    const why = isPaused(state, name, clock())
      ? "paused"
      : open
        ? `for worker ${workerSlug(open)}`
        : whyNoSlot;
    if (waitReasonByName.get(name) === why) continue;
    waitReasonByName.set(name, why);
    emit({ event: "waiting", worker: slug, why });
  }
}

/** Records a waiting worker as failed if another worker on which it depends has failed. */
async function failBlocked(
  deps: SwarmOwnerDeps,
  waiting: readonly UnpreparedWorker[],
  found: SwarmState,
  owner: OwnerLoopState,
): Promise<SwarmState> {
  for (let state = found; ; state = await deps.read()) {
    const blocked = waiting.find(
      ({ name, dependsOn }) => isIdle(state, name, owner) && failedAmong(state, dependsOn, owner) !== null,
    );
    if (!blocked) return state;
    const blamed = failedAmong(state, blocked.dependsOn, owner);
    const message = `the worker depends on ${blamed ? workerSlug(blamed) : "another worker"}, which failed`;
    const reason = { code: "DEPENDENCY_FAILED", message };
    deps.emit({ event: "skipped", worker: blocked.slug, reason });
    await deps.change(blocked.name, (record) => recordWithStatus(record, "failed", reason, deps.clock()));
  }
}

/**
 * Returns whether a worker waits for its start. A worker that was stopped while this process was the owner
 * does not wait, because only a resume or a retry continues it.
 */
function isIdle(state: SwarmState, name: string, { startedNames }: OwnerLoopState): boolean {
  const status = recordIn(state, name)?.status;
  return status === "pending" || (status === "stopped" && !startedNames.has(name));
}

/**
 * Returns the record of the first failed worker among `names`; null if there is none. Ignores a worker that
 * is still supervised, because it may get another attempt.
 */
function failedAmong(
  state: SwarmState,
  names: readonly string[],
  { running }: OwnerLoopState,
): ContainerRecord | null {
  const failed = names
    .map((name) => recordIn(state, name))
    .find((record) => record?.status === "failed" && !running.has(record.containerName));
  return failed ?? null;
}

function haltAfterFailure(
  { emit }: SwarmOwnerDeps,
  { containers }: SwarmState,
  { startedNames, halt }: OwnerLoopState,
): void {
  const failed = containers.find(
    ({ containerName, status }) => status === "failed" && startedNames.has(containerName),
  );
  if (!failed) return;
  const reason = `worker ${workerSlug(failed)} failed, and --fail-fast is set`;
  emit({ event: "stopping", why: reason });
  halt({ reason, graceMs: 10_000 });
}
