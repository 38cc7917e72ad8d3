import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { SwarmError } from "../../errors/errors.ts";
import type { ContainerPauseLock } from "../../machine/locks/pause-lock.ts";
import { engineFailed } from "../engine-failed.ts";
import { type EngineCallDescription, translateEngineFailure } from "./translate-failure.ts";

/** Time limits for engine calls, in milliseconds. */
const limits = {
  /**
   * The time limit in milliseconds of a call about one container, such as unpause, inspect or exec. Such a
   * call normally takes only milliseconds.
   */
  container: 25_000,
  other: 120_000,
  /**
   * The time in milliseconds after which swarm checks whether an unanswered call's container is frozen. If
   * so, swarm calls `killStartingPrograms`.
   */
  suspicious: 8_000,
  list: 4_000,
} as const;

export interface TimedEngineCallDescription extends EngineCallDescription {
  /**
   * The ID or name of the container that the call is about. If this container stays frozen, the call fails
   * with the error `CONTAINER_STUCK`.
   */
  readonly container?: string;
  /** The time limit in milliseconds; if undefined, the call has the usual limit. */
  readonly limitMs?: number;
  /**
   * Whether the call also works on a frozen container, or is itself the call that freezes the container.
   * Such a call never fails with the error `CONTAINER_STUCK`.
   */
  readonly isForFrozen?: boolean;
}

/** The option with which dockerode's methods accept an abort signal. */
export interface AbortOption {
  readonly abortSignal: AbortSignal;
}

/**
 * Calls the engine through dockerode, and converts the engine's errors into swarm's errors. If the engine
 * does not answer in time, aborts the signal that was passed to `call`.
 */
export type EngineCaller = <Result>(
  meaning: TimedEngineCallDescription,
  call: (ending: AbortOption) => Promise<Result>,
) => Promise<Result>;

/** The connection to an engine, which the operations on its containers, images and networks share. */
export interface EngineConnection {
  readonly docker: Docker;
  readonly endpoint: string;
  readonly call: EngineCaller;
  readonly gate: ContainerPauseLock;
}

export interface EngineCallerDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  /**
   * Kills the container runtime's processes (such as `runc exec`) that are starting a program in the given
   * container. With `onlyFrozen`, spares a process whose program is not frozen by the kernel. Returns the
   * number of killed processes, or 0 if the engine runs on another machine or as another user.
   */
  readonly killStartingPrograms: (
    containerId: string,
    options: { readonly onlyFrozen: boolean },
  ) => Promise<number>;
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
      return await Promise.race([call({ abortSignal: signal }), rejectedBy(signal, done.signal)]);
    } catch (error) {
      throw translateEngineFailure(deps.endpoint, { ...meaning, signal }, error);
    } finally {
      done.abort();
    }
  };
}

/** Resolves with a timeout error when a call exceeds its time limit. Rejects if `done` aborts before that. */
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
    const found = await findContainer(deps, container);
    // A program that starts during a freeze keeps the container frozen. When that program has ended, the
    // engine itself unfreezes the container. The engine may not have recorded yet that it froze the container.
    if (found) await deps.killStartingPrograms(found.Id, { onlyFrozen: found.State !== "paused" });
  }
  if (container !== undefined && !isForFrozen) {
    const withinMs = Math.min(limits.container, maxMs);
    await reach(withinMs);
    const found = await findContainer(deps, container);
    if (found?.State === "paused")
      return new SwarmError("CONTAINER_STUCK", { id: found.Id, operation, withinMs });
  }
  await reach(maxMs);
  const reason = `the engine did not answer within ${maxMs / 1000} s`;
  return (await listContainers(deps)) === null
    ? new SwarmError("ENGINE_UNREACHABLE", { tried: [`${deps.endpoint}: ${reason}`] })
    : engineFailed(operation, reason);
}

async function findContainer(
  deps: EngineCallerDeps,
  container: string,
): Promise<Docker.ContainerInfo | undefined> {
  const listed = await listContainers(deps);
  return listed?.find(({ Id, Names }) => Id.startsWith(container) || Names.includes(`/${container}`));
}

/**
 * Lists the containers, or returns null if the engine does not answer. The list works even if calls about one
 * frozen container get no answer.
 */
async function listContainers({ docker }: EngineCallerDeps): Promise<Docker.ContainerInfo[] | null> {
  const abortSignal = AbortSignal.timeout(limits.list);
  return docker.listContainers({ all: true, abortSignal }).catch(() => null);
}

function rejectedBy(signal: AbortSignal, done: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: done });
  return promise;
}
