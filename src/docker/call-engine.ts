import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { SwarmError } from "../domain/errors.ts";
import { abortSignalOption } from "./dockerode-at.ts";
import { type EngineCallDescription, translateEngineFailure } from "./translate-failure.ts";

/** Time limits for engine calls, in milliseconds. */
const limits = {
  /**
   * The time limit of a call about one container, such as unpause, inspect or exec. Such a call normally
   * takes milliseconds.
   */
  container: 25_000,
  other: 120_000,
  /**
   * How long after the start of a call swarm checks whether the container is frozen. If so,
   * `killStartingPrograms` runs.
   */
  suspicious: 8_000,
  list: 4_000,
} as const;

export interface TimedEngineCallDescription extends EngineCallDescription {
  /**
   * The ID or name of the container that the call is about. If this container stays frozen, the call fails
   * with `CONTAINER_STUCK`.
   */
  readonly container?: string;
  /** The time limit in milliseconds, if it differs from the usual time limit of calls. */
  readonly limitMs?: number;
  /**
   * Whether the call works on a frozen container, or freezes the container itself. Such a call does not fail
   * with `CONTAINER_STUCK`.
   */
  readonly isForFrozen?: boolean;
}

/**
 * Calls the engine through dockerode, and converts the engine's errors into swarm's errors. If the engine
 * does not answer in time, aborts the signal that `call` received.
 */
export type EngineCaller = <Result>(
  meaning: TimedEngineCallDescription,
  call: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

export interface EngineCallerDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  /**
   * Kills the runtime processes that are starting a program in a container. Returns how many were killed: 0
   * if this process must not kill them.
   */
  readonly killStartingPrograms: (containerId: string) => Promise<number>;
}

export function createEngineCaller(deps: EngineCallerDeps): EngineCaller {
  return async (meaning, call) => {
    meaning.signal?.throwIfAborted();
    const limit = new AbortController();
    const { signal: own = limit.signal } = meaning;
    const signal = AbortSignal.any([own, limit.signal]);
    const done = new AbortController();
    void watch(deps, meaning, done.signal).then(
      (verdict) => limit.abort(verdict),
      (error: unknown) => {
        if (!done.signal.aborted) limit.abort(error);
      },
    );
    try {
      return await Promise.race([call(signal), rejectedBy(signal, done.signal)]);
    } catch (error) {
      throw translateEngineFailure(deps.endpoint, { ...meaning, signal }, error);
    } finally {
      done.abort();
    }
  };
}

/** Resolves with an error when a call exceeds its time limit. Rejects if `done` aborts first. */
async function watch(
  deps: EngineCallerDeps,
  { container, operation, isForFrozen = false, limitMs }: TimedEngineCallDescription,
  done: AbortSignal,
): Promise<SwarmError> {
  const begun = performance.now();
  const reach = (ms: number): Promise<void> =>
    delay(Math.max(0, ms - (performance.now() - begun)), undefined, { signal: done });
  const maxMs = limitMs ?? (container === undefined ? limits.other : limits.container);
  if (container !== undefined) {
    await reach(Math.min(limits.suspicious, maxMs));
    const frozen = await findFrozen(deps, container);
    // A program that starts during a freeze keeps the container frozen. When that program has ended, the
    // engine itself unfreezes the container.
    if (frozen !== null) await deps.killStartingPrograms(frozen);
  }
  if (container !== undefined && !isForFrozen) {
    const withinMs = Math.min(limits.container, maxMs);
    await reach(withinMs);
    const frozen = await findFrozen(deps, container);
    if (frozen !== null) return new SwarmError("CONTAINER_STUCK", { id: frozen, operation, withinMs });
  }
  await reach(maxMs);
  const reason = `the engine did not answer within ${maxMs / 1000} s`;
  return (await listFrozen(deps)) === null
    ? new SwarmError("ENGINE_UNREACHABLE", { tried: [`${deps.endpoint}: ${reason}`] })
    : new SwarmError("ENGINE_FAILED", { operation, reason });
}

/** Returns the full ID of a container if that container is frozen, else null. */
async function findFrozen(deps: EngineCallerDeps, container: string): Promise<string | null> {
  const found = (await listFrozen(deps))?.find(
    ({ Id, Names }) => Id.startsWith(container) || Names.includes(`/${container}`),
  );
  return found?.Id ?? null;
}

/**
 * Lists the frozen containers, or returns null if the engine does not answer. The list works even if calls
 * about one frozen container get no answer.
 */
async function listFrozen({ docker }: EngineCallerDeps): Promise<Docker.ContainerInfo[] | null> {
  const filters = JSON.stringify({ status: ["paused"] });
  const ending = abortSignalOption(AbortSignal.timeout(limits.list));
  return docker.listContainers({ all: true, filters, ...ending }).catch(() => null);
}

function rejectedBy(signal: AbortSignal, done: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: done });
  return promise;
}
