import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { SwarmError } from "../domain/errors.ts";
import { until } from "./dockerode-at.ts";
import { type CallMeaning, translateFailure } from "./translate-failure.ts";

/** How long a call may go without an answer. */
const limits = {
  /** An unpause, a look, a beginning: milliseconds, where nothing is wrong. */
  container: 25_000,
  other: 120_000,
  /** After this time a container that is frozen is helped. */
  suspicious: 8_000,
  list: 4_000,
} as const;

export interface TimedMeaning extends CallMeaning {
  /** Whom it is about: one that stays frozen is told as such. */
  readonly container?: string;
  /** For what may take longer than others. */
  readonly limitMs?: number;
  /** It leaves a container frozen, or freezes it for as long as it takes. */
  readonly isForFrozen?: boolean;
}

/**
 * Calls the engine through dockerode, and says in our words what went wrong. What is not answered in time ends with a reason:
 * the signal given to the call is aborted with it.
 */
export type CallEngine = <Result>(
  meaning: TimedMeaning,
  call: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

export interface CallerDeps {
  readonly docker: Docker;
  readonly endpoint: string;
  /** Ends programs that are just beginning in a container, where that is in our power. How many. */
  readonly endBeginnings: (containerId: string) => Promise<number>;
}

export function callerFor(deps: CallerDeps): CallEngine {
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
      throw translateFailure(deps.endpoint, { ...meaning, signal }, error);
    } finally {
      done.abort();
    }
  };
}

/** Resolves with why it is given up, once it has taken too long; rejects when it is done. */
async function watch(
  deps: CallerDeps,
  { container, operation, isForFrozen = false, limitMs }: TimedMeaning,
  done: AbortSignal,
): Promise<SwarmError> {
  const begun = performance.now();
  const reach = (ms: number): Promise<void> =>
    delay(Math.max(0, ms - (performance.now() - begun)), undefined, { signal: done });
  const longestMs = limitMs ?? (container === undefined ? limits.other : limits.container);
  if (container !== undefined) {
    await reach(Math.min(limits.suspicious, longestMs));
    const frozen = await findFrozen(deps, container);
    // The engine thaws it by itself, once the program has ended that was beginning when it was frozen.
    if (frozen !== null) await deps.endBeginnings(frozen);
  }
  if (container !== undefined && !isForFrozen) {
    const withinMs = Math.min(limits.container, longestMs);
    await reach(withinMs);
    const frozen = await findFrozen(deps, container);
    if (frozen !== null) return new SwarmError("CONTAINER_STUCK", { id: frozen, operation, withinMs });
  }
  await reach(longestMs);
  const reason = `it did not answer within ${longestMs / 1000} s`;
  return (await listFrozen(deps)) === null
    ? new SwarmError("ENGINE_UNREACHABLE", { tried: [`${deps.endpoint}: ${reason}`] })
    : new SwarmError("ENGINE_FAILED", { operation, reason });
}

/** The id of this container, when it is frozen. */
async function findFrozen(deps: CallerDeps, container: string): Promise<string | null> {
  const found = (await listFrozen(deps))?.find(
    ({ Id, Names }) => Id.startsWith(container) || Names.includes(`/${container}`),
  );
  return found?.Id ?? null;
}

/** A list is given by an engine that does not answer about a container in it. Null when not even that is answered. */
async function listFrozen({ docker }: CallerDeps): Promise<Docker.ContainerInfo[] | null> {
  const filters = JSON.stringify({ status: ["paused"] });
  const ending = until(AbortSignal.timeout(limits.list));
  return docker.listContainers({ all: true, filters, ...ending }).catch(() => null);
}

function rejectedBy(signal: AbortSignal, done: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: done });
  return promise;
}
