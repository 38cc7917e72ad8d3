import { SwarmError } from "../domain/errors.ts";
import { describeHolder } from "../domain/lock-holder.ts";
import type { HeldLock, Lock, LockHolder } from "../ports/lock.ts";
import { type Claim, claimsAt, type NewestClaim } from "./claims.ts";
import { parseHolder, thisHolder, unknownHolder } from "./lock-holder.ts";
import { readSmall } from "./read-small.ts";
import { waitFor } from "./wait-for.ts";

const defaultStaleMs = 10_000;
const renewalsPerStale = 5;
const maxBytes = 64 * 1024;
const longAgo = new Date(0);

/**
 * The second choice, for network filesystems and platforms without kernel locks (`SWARM_LOCK=portable`). A
 * holder renews its claim like a lease. A holder that does not renew it for `staleMs` loses the lock to the
 * next claim, and every later `confirm` throws. `fencedLock` covers writes between the last `confirm` and the
 * next claim (docs/decisions/0039-a-version-is-claimed-before-it-is-written.md).
 */
export function portableLock(
  file: string,
  command: string,
  { staleMs = defaultStaleMs }: { staleMs?: number } = {},
): Lock {
  const claims = claimsAt(file);
  /** A claim from the future counts as stale, too: the clock has jumped, or it is another machine's. */
  const isHeld = (newest: NewestClaim): boolean => Math.abs(Date.now() - newest.renewedMs) < staleMs;

  const holder = (): LockHolder | null => {
    const newest = claims.newest();
    if (!newest || !isHeld(newest)) return null;
    return parseHolder(readSmall(newest.path, maxBytes) ?? "") ?? unknownHolder;
  };

  return {
    async hold(waitMs, signal) {
      const claim = await waitFor(
        async () => {
          const newest = claims.newest();
          if (newest && isHeld(newest)) return undefined;
          return claims.makeAfter(newest, `${JSON.stringify(thisHolder(command, new Date()))}\n`);
        },
        waitMs,
        signal,
      );
      if (!claim)
        throw new SwarmError("LOCK_TIMEOUT", { file, waitedMs: waitMs, holder: describeHolder(holder()) });
      return heldClaim(claim, file, staleMs / renewalsPerStale);
    },

    async holder() {
      return holder();
    },
  };
}

function heldClaim({ handle, isNewest }: Claim, file: string, renewEveryMs: number): HeldLock {
  let renewing: Promise<void> | undefined;
  // A claim that cannot be renewed becomes stale; `confirm` throws once another process has claimed the lock.
  const renew = (): Promise<void> => handle.utimes(new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(() => {
    renewing = renew();
  }, renewEveryMs);
  timer.unref();
  const release = async (): Promise<void> => {
    clearInterval(timer);
    await renewing;
    // Keep the claim file, so that its number is not used again. If `utimes` fails, the claim becomes stale by itself.
    await handle.utimes(longAgo, longAgo).catch(() => undefined);
    await handle.close();
  };
  let releasing: Promise<void> | undefined;
  return {
    async confirm() {
      if (!isNewest()) throw new SwarmError("LOCK_LOST", { file });
    },
    [Symbol.asyncDispose]() {
      releasing ??= release();
      return releasing;
    },
  };
}
