import { isTerminal } from "../domain/container-status.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerRecord, SwarmState } from "../domain/generated/swarm-state.ts";
import { type HostCapacity, isHeldBackByOthers, parallelWorkers } from "../domain/parallel-workers.ts";
import type { RetryPolicy } from "../domain/retry-policy.ts";
import { workerSlug } from "../domain/slug.ts";
import { movedTo } from "../domain/swarm-state.ts";
import type { OwnerServices, WaitingWorker } from "./equip-worker.ts";
import { superviseWorker, type WorkerHandle } from "./keep-worker.ts";
import { endPauses, notifyWhenPausesEnd, waitsForModel } from "./model-pauses.ts";
import { applyCommands } from "./obey-wishes.ts";
import type { Halt } from "./run-worker.ts";
import type { SwarmDeps } from "./swarm-deps.ts";

export interface OwnerOptions {
  /** Workers at once; `auto` for as many as the engine's host holds. */
  readonly parallel: number | "auto";
  /** Reads the memory and CPUs that this swarm may use now; called only for `auto`. */
  readonly hostCapacity: (signal: AbortSignal) => Promise<HostCapacity>;
  /** How long a worker waits for memory and CPUs of other sandboxes before the host is asked again. */
  readonly askHostEveryMs: number;
  readonly policy: RetryPolicy;
  /** Returns every worker of a state that has not ended. Other processes may add workers while the swarm runs. */
  readonly waitingIn: (state: SwarmState) => Promise<readonly WaitingWorker[]>;
  /** Calls back whenever another process may have changed the state, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

export interface OwnerSignals {
  /** Aborted with a `Halt`: the owner starts no worker any more, and asks the running ones to stop. */
  readonly halt: AbortSignal;
  /** Aborted to stop the running workers at once. */
  readonly stopNow: AbortSignal;
  /** Aborted when the ownership is lost: the owner starts no worker any more. */
  readonly lost: AbortSignal;
}

/** The owner's state in memory. */
export interface OwnerState {
  readonly running: Map<string, WorkerHandle>;
  /** The last reported reason why a worker waits, by its name. */
  readonly whyByName: Map<string, string>;
  /** Names of the workers that were started once: a second start needs a command of the user. */
  readonly begun: Set<string>;
  /** Whether the owner starts no worker any more. */
  readonly isEnding: () => boolean;
  /** Stops all workers of the swarm; a later resume continues them. */
  readonly halt: (halt: Halt) => void;
}

/**
 * The owner loop: runs at most `parallel` workers at once, each when its dependencies are completed, until none is left that
 * could run. Applies the commands of other processes meanwhile.
 */
export async function ownSwarm(
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
  const owner: OwnerState = {
    ...{ running: new Map(), whyByName: new Map(), begun: new Set() },
    isEnding: () => isOver || halt.aborted || signals.lost.aborted,
    halt: (why) => halting.abort(why),
  };
  const failures: unknown[] = [];
  const wake = (): void => wakeSignal.notify();
  swarm.watch(wake, ended.signal);
  for (const signal of [halt, signals.lost]) signal.addEventListener("abort", wake, { once: true });
  try {
    for (;;) {
      const afterCommands = await applyCommands(deps, owner, await deps.read());
      const now = deps.clock();
      const afterPauses = await endPauses(deps, owner, afterCommands, now);
      const waiting = await swarm.waitingIn(afterPauses);
      const state = await failBlocked(deps, waiting, afterPauses, owner);
      if (swarm.policy.failFast && !halt.aborted) haltAfterFailure(deps, state, owner);
      const ready = owner.isEnding() ? [] : readyWorkers(waiting, state, owner, now);
      const slots = await slotsFor(ready, waiting);
      // A command may have ended the swarm during the question.
      const isEnding = owner.isEnding();
      let left = state;
      for (const worker of isEnding ? [] : ready.slice(0, slots.free))
        if (await waitsForModel(deps, worker)) left = await deps.read();
        else begin(worker);
      if (!isEnding) reportWaiting(deps, waiting, left, owner, slots.why);
      if (owner.running.size === 0 && (isEnding || !isAnyPaused(waiting, left, owner, now))) break;
      using _alarm = notifyWhenPausesEnd(deps, left, now, wake);
      using _timer = slots.isToBeAskedAgain ? wakeAfter(swarm.askHostEveryMs, wake) : null;
      await wakeSignal.wait();
    }
  } catch (error) {
    // An owner that fails stops its workers first: without an owner, no process would receive their messages.
    owner.halt({ reason: "its owner cannot go on", graceMs: 10_000 });
    await Promise.all([...owner.running.values()].map(({ ended: end }) => end.catch(() => {})));
    throw error;
  } finally {
    ended.abort();
    for (const signal of [halt, signals.lost]) signal.removeEventListener("abort", wake);
  }
  isOver = true;
  await applyCommands(deps, owner, await deps.read());
  if (failures.length > 0) throw failures[0];
  return deps.read();

  /** The number of ready workers that may begin, and why the others wait. */
  async function slotsFor(
    ready: readonly WaitingWorker[],
    waiting: readonly WaitingWorker[],
  ): Promise<Slots> {
    if (ready.length === 0) return { free: 0, why: freeSlot, isToBeAskedAgain: false };
    const { parallel } = swarm;
    if (parallel === "auto") capacity = await askHost();
    const settings = { parallel, memoryBytes: deps.limits.memoryBytes };
    const tasks = waiting.map(({ task }) => task);
    const { workers } = parallelWorkers(tasks, settings, capacity);
    const free = Math.max(0, workers - owner.running.size);
    const isHeldBack = free < ready.length && isHeldBackByOthers(tasks, settings, capacity);
    return {
      free,
      why: isHeldBack ? "for memory and CPUs that other sandboxes may use" : freeSlot,
      isToBeAskedAgain: isHeldBack || (parallel === "auto" && capacity === null),
    };
  }

  /** Asks the engine at most once a second; if it does not answer, its last answer stays valid. */
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

  function begin(worker: WaitingWorker): void {
    owner.begun.add(worker.name);
    deps.emit({ event: "started", worker: worker.slug });
    const handle = superviseWorker(deps, worker, { policy: swarm.policy, halt, stopNow: signals.stopNow });
    owner.running.set(worker.name, handle);
    void handle.ended
      // A failure of one worker's supervision does not stop the others.
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
  /** Whether the host may have more later without a change of this swarm. */
  readonly isToBeAskedAgain: boolean;
}

function wakeAfter(ms: number, wake: () => void): Disposable {
  const timer = setTimeout(wake, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** A wake signal, notified on any possible change; notifications before the next wait count as one. */
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
  waiting: readonly WaitingWorker[],
  state: SwarmState,
  { begun }: OwnerState,
  now: Date,
): WaitingWorker[] {
  return waiting.filter(
    ({ name, dependsOn }) =>
      !begun.has(name) && isReady(state, name, dependsOn) && !isPaused(state, name, now),
  );
}

/** Whether some worker waits only for the end of a pause. */
function isAnyPaused(
  waiting: readonly WaitingWorker[],
  state: SwarmState,
  { begun }: OwnerState,
  now: Date,
): boolean {
  return waiting.some(
    ({ name, dependsOn }) =>
      !begun.has(name) && isReady(state, name, dependsOn) && isPaused(state, name, now),
  );
}

function isReady(state: SwarmState, name: string, dependsOn: readonly string[]): boolean {
  const record = recordIn(state, name);
  if (!record || isTerminal(record.status)) return false;
  return dependsOn.every((other) => recordIn(state, other)?.status === "completed");
}

/** Whether a worker is paused now. A pause past its end does not count: starting the worker clears it. */
function isPaused(state: SwarmState, name: string, now: Date): boolean {
  const paused = recordIn(state, name)?.paused;
  return paused != null && (paused.until === null || Date.parse(paused.until) > now.getTime());
}

/** Reports why a worker waits, whenever the reason changes. */
function reportWaiting(
  { emit, clock }: SwarmDeps,
  waiting: readonly WaitingWorker[],
  state: SwarmState,
  { begun, whyByName }: OwnerState,
  whyNoSlot: string,
): void {
  for (const { name, slug, dependsOn } of waiting) {
    if (begun.has(name)) continue;
    const open = dependsOn
      .map((other) => recordIn(state, other))
      .find((record) => record && record.status !== "completed");
    const why = isPaused(state, name, clock()) ? "paused" : open ? `for ${workerSlug(open)}` : whyNoSlot;
    if (whyByName.get(name) === why) continue;
    whyByName.set(name, why);
    emit({ event: "waiting", worker: slug, why });
  }
}

/** Marks workers as failed whose dependency failed. */
async function failBlocked(
  deps: SwarmDeps,
  waiting: readonly WaitingWorker[],
  found: SwarmState,
  owner: OwnerState,
): Promise<SwarmState> {
  for (let state = found; ; state = await deps.read()) {
    const blocked = waiting.find(
      ({ name, dependsOn }) => isIdle(state, name, owner) && failedAmong(state, dependsOn, owner) !== null,
    );
    if (!blocked) return state;
    const blamed = failedAmong(state, blocked.dependsOn, owner);
    const message = `it depends on ${blamed ? workerSlug(blamed) : "another one"}, which failed`;
    const reason = { code: "DEPENDENCY_FAILED", message };
    deps.emit({ event: "skipped", worker: blocked.slug, reason });
    await deps.change(blocked.name, (record) => movedTo(record, "failed", reason, deps.clock()));
  }
}

/** Whether a worker has not started. One that was stopped in this run stays stopped until a resume or retry. */
function isIdle(state: SwarmState, name: string, { begun }: OwnerState): boolean {
  const status = recordIn(state, name)?.status;
  return status === "pending" || (status === "stopped" && !begun.has(name));
}

/** The first failed worker among these. One that is still supervised may get another attempt, so it does not count. */
function failedAmong(
  state: SwarmState,
  names: readonly string[],
  { running }: OwnerState,
): ContainerRecord | null {
  const failed = names
    .map((name) => recordIn(state, name))
    .find((record) => record?.status === "failed" && !running.has(record.containerName));
  return failed ?? null;
}

function haltAfterFailure(
  { emit }: SwarmDeps,
  { containers }: SwarmState,
  { begun, halt }: OwnerState,
): void {
  const failed = containers.find(
    ({ containerName, status }) => status === "failed" && begun.has(containerName),
  );
  if (!failed) return;
  const reason = `${workerSlug(failed)} failed, and --fail-fast was given`;
  emit({ event: "stopping", why: reason });
  halt({ reason, graceMs: 10_000 });
}
