import { isTerminal } from "../domain/container-status.ts";
import type { ContainerRecord, SwarmState } from "../domain/generated/swarm-state.ts";
import { workerSlug } from "../domain/slug.ts";
import type { Lock } from "../ports/lock.ts";
import type { StateStore } from "../ports/state-store.ts";

export interface WaitDeps {
  readonly store: Pick<StateStore, "read">;
  readonly owner: Pick<Lock, "holder">;
  /** Calls back whenever the state may have changed, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

export interface WaitedFor {
  /** Null for every worker of the swarm, those that are added meanwhile too. */
  readonly slugs: readonly string[] | null;
  readonly timeoutMs: number | null;
  /** Told of each worker that comes to its end, once. */
  readonly onEnded: (record: ContainerRecord) => void;
}

/** `unowned`: nobody carries it out, so that nothing more happens. `replaced`: another swarm is there now. */
export type WaitEnd = "ended" | "timeout" | "unowned" | "replaced";

/** How the wait ended, and the workers that were waited for as they were then. */
export interface Waited {
  readonly end: WaitEnd;
  readonly state: SwarmState;
  readonly workers: readonly ContainerRecord[];
}

const lookEveryMs = 1_000;

/** Waits until workers are completed or failed, or nobody is there who would carry them on. */
export async function waitForWorkers(
  { store, owner, watch }: WaitDeps,
  { slugs, timeoutMs, onEnded }: WaitedFor,
  signal: AbortSignal,
): Promise<Waited> {
  signal.throwIfAborted();
  let last = await store.read();
  const told = new Set<string>();
  const over = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<WaitEnd>();

  const look = async (): Promise<void> => {
    // Asked before: what an owner wrote before it went is seen.
    const isOwned = (await owner.holder()) !== null;
    const state = await store.read();
    if (over.signal.aborted) return;
    if (state.swarmId !== last.swarmId) return resolve("replaced");
    last = state;
    const workers = chosenIn(state, slugs);
    for (const record of workers) {
      if (!isTerminal(record.status) || told.has(record.containerName)) continue;
      told.add(record.containerName);
      onEnded(record);
    }
    if (workers.every(({ status }) => isTerminal(status))) {
      // The owner may still have another attempt in mind; if not, it goes.
      const isFinal = slugs !== null || !isOwned || workers.every(({ status }) => status === "completed");
      if (isFinal) resolve("ended");
    } else if (!isOwned) resolve("unowned");
  };
  const lookOrFail = (): void => void look().catch(reject);

  using stack = new DisposableStack();
  stack.defer(() => over.abort());
  const timer = setInterval(lookOrFail, lookEveryMs);
  stack.defer(() => clearInterval(timer));
  if (timeoutMs !== null) {
    const timeout = setTimeout(() => resolve("timeout"), timeoutMs);
    stack.defer(() => clearTimeout(timeout));
  }
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  stack.defer(() => signal.removeEventListener("abort", abort));
  watch(lookOrFail, AbortSignal.any([signal, over.signal]));
  lookOrFail();
  const end = await promise;
  return { end, state: last, workers: chosenIn(last, slugs) };
}

function chosenIn({ containers }: SwarmState, slugs: WaitedFor["slugs"]): readonly ContainerRecord[] {
  return slugs === null ? containers : containers.filter((record) => slugs.includes(workerSlug(record)));
}
