import type { SwarmState } from "../domain/swarm-state.ts";
import { openWishes, type Wish, withWish } from "../domain/wishes.ts";
import { homeVolumeName } from "../domain/worker-names.ts";
import type { Lock } from "../ports/lock.ts";
import type { StateStore } from "../ports/state-store.ts";

export interface AskOwnerDeps {
  readonly store: Pick<StateStore, "update" | "read">;
  readonly owner: Pick<Lock, "holder">;
  /** Calls back whenever the state may have changed, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

/** Writes wishes for the owner and waits until they are granted; false when there is no owner who would. */
export async function askOwner(
  { store, owner, watch }: AskOwnerDeps,
  wishes: readonly Wish[],
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  if ((await owner.holder()) === null) return false;
  await store.update((state) => wishes.reduce(withWish, state));
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const look = async (): Promise<void> => {
    if (!isAsked(await store.read(), wishes)) resolve(true);
    else if ((await owner.holder()) === null) resolve(false);
  };
  // An owner that is killed changes nothing that could be watched.
  const timer = setInterval(() => void look().catch(reject), 1_000);
  watch(() => void look().catch(reject), either);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    done.abort();
    signal.removeEventListener("abort", abort);
  }
}

function isAsked(state: SwarmState, wishes: readonly Wish[]): boolean {
  const open = openWishes(state);
  return wishes.some((wish) =>
    open.some(
      (other) =>
        other.wish === wish.wish &&
        (other.of === "swarm" ? wish.of === "swarm" : wish.of === "container" && isSameWorker(other, wish)),
    ),
  );
}

interface Named {
  readonly name: string;
}

/** A worker that is on its next attempt is still the one that was meant. */
function isSameWorker(one: Named, other: Named): boolean {
  return homeVolumeName(one.name) === homeVolumeName(other.name);
}
