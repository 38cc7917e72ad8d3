import { isError, SwarmError } from "../domain/errors.ts";
import { describeHolder } from "../domain/lock-holder.ts";
import type { HeldLock, Lock } from "../ports/lock.ts";

/** The right to act on a swarm. */
export interface Ownership extends AsyncDisposable {
  /** Aborted, with LOCK_LOST, when the lock file was replaced: no new work may start. */
  readonly lost: AbortSignal;
}

// Long enough to outlast processes that only ask for the owner, and hold a shared lock meanwhile.
const waitMs = 300;
const lookEveryMs = 5_000;

/** Becomes the owner, or throws OWNED_BY_ANOTHER with the present owner. */
export async function holdOwnership(
  lock: Lock,
  { everyMs = lookEveryMs }: { everyMs?: number } = {},
): Promise<Ownership> {
  const held = await holdOrName(lock);
  const losing = new AbortController();
  let ended = false;
  const timer = setInterval(() => {
    held.confirm().catch((error: unknown) => {
      if (!ended) losing.abort(error);
    });
  }, everyMs);
  timer.unref();
  return {
    lost: losing.signal,
    async [Symbol.asyncDispose]() {
      ended = true;
      clearInterval(timer);
      await held[Symbol.asyncDispose]();
    },
  };
}

async function holdOrName(lock: Lock): Promise<HeldLock> {
  try {
    return await lock.hold(waitMs);
  } catch (error) {
    if (!isError(error, "LOCK_TIMEOUT")) throw error;
    throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(await lock.holder()) }, error);
  }
}
