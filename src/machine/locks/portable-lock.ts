import { SwarmError } from "../../errors/errors.ts";
import { describeHolder } from "../../text/lock-holder.ts";
import { once } from "../../text/once.ts";
import { pollUntilAnswer } from "../poll-until.ts";
import type { HeldLock, Lock, LockHolder } from "./lock.ts";
import { type LockClaim, type NewestLockClaim, openLockClaims } from "./lock-claims.ts";
import { currentProcessAsHolder, readHolderFrom, unknownHolder } from "./lock-holder.ts";

const defaultStaleMs = 10_000;
const renewalsPerStale = 5;
const longAgo = new Date(0);

/**
 * Creates a lock for network filesystems and for platforms without kernel locks (`SWARM_LOCK=portable`). A
 * holder must renew its claim, like a lease; if it does not do so for `staleMs`, another process can acquire
 * the lock. Then the old holder's `confirm` throws, and `fencedLock` stops writes that it confirmed before
 * (docs/decisions/0039-a-version-is-claimed-before-it-is-written.md).
 */
export function portableLock(
  file: string,
  command: string,
  { staleMs = defaultStaleMs }: { staleMs?: number } = {},
): Lock {
  const claims = openLockClaims(file);
  /**
   * Returns whether a claim was renewed recently, so that the process that made the claim still holds the
   * lock. A renewal time far in the future does not count as recent, because the clock was wrong then.
   */
  const isHeld = (newest: NewestLockClaim): boolean => Math.abs(Date.now() - newest.renewedAtMs) < staleMs;

  const holder = (): LockHolder | null => {
    const newest = claims.newest();
    if (!newest || !isHeld(newest)) return null;
    return readHolderFrom(newest.path) ?? unknownHolder;
  };

  return {
    async acquire(waitMs, signal) {
      const claim = await pollUntilAnswer(
        async () => {
          const newest = claims.newest();
          if (newest && isHeld(newest)) return undefined;
          return claims.makeAfter(newest, `${JSON.stringify(currentProcessAsHolder(command))}\n`);
        },
        { waitMs },
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

function heldClaim({ handle, isNewest }: LockClaim, file: string, renewEveryMs: number): HeldLock {
  let renewing: Promise<void> | undefined;
  // Ignore a failed renewal: the claim becomes stale, and `confirm` throws if another process has claimed the
  // lock.
  const renew = (): Promise<void> => handle.utimes(new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(() => {
    renewing = renew();
  }, renewEveryMs);
  timer.unref();
  const release = async (): Promise<void> => {
    clearInterval(timer);
    await renewing;
    // Keep the claim file, so that its number is not used again. If `utimes` fails, the claim becomes stale
    // by itself.
    await handle.utimes(longAgo, longAgo).catch(() => undefined);
    await handle.close();
  };
  return {
    async confirm() {
      if (!isNewest()) throw new SwarmError("LOCK_LOST", { file });
    },
    [Symbol.asyncDispose]: once(release),
  };
}
