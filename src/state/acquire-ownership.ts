import { isError, SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/locks/lock.ts";
import { describeHolder } from "../text/lock-holder.ts";

/** The exclusive right of a process to run a swarm as its owner. */
export interface SwarmOwnership extends AsyncDisposable {
  /**
   * Aborted with LOCK_LOST when another process has replaced the lock file. This process is then no longer
   * the owner, and must start no new work.
   */
  readonly lost: AbortSignal;
}

// The maximum time to wait for the lock in milliseconds, longer than processes hold a shared lock to look for
// the owner.
const waitMs = 300;
const lookEveryMs = 5_000;

/**
 * Makes this process the owner of the swarm. If another process is the owner, throws OWNED_BY_ANOTHER with a
 * description of that process.
 */
export async function acquireSwarmOwnership(
  lock: Lock,
  { everyMs = lookEveryMs }: { everyMs?: number } = {},
): Promise<SwarmOwnership> {
  const held = await lock.acquire(waitMs).catch(async (error: unknown) => {
    if (!isError(error, "LOCK_TIMEOUT")) throw error;
    throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(await lock.holder()) }, error);
  });
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
