import { SwarmError } from "../domain/errors.ts";
import { describeHolder } from "../domain/lock-holder.ts";
import type { HeldLock, Lock, LockHolder } from "../ports/lock.ts";
import { type Claim, claimsAt, type NewestClaim } from "./claims.ts";
import { parseHolder, thisHolder, unknownHolder } from "./lock-holder.ts";
import { readSmall } from "./read-small.ts";
import { waitFor } from "./wait-for.ts";

const defaultStaleMs = 10_000;
const renewalsPerStale = 5;
const mostBytes = 64 * 1024;
const longAgo = new Date(0);

/**
 * The second choice, for network filesystems and platforms without kernel locks (`SWARM_LOCK=portable`). A holder renews
 * its claim; a process that does not for longer than `staleMs` loses the lock to the next claim, and is refused from then on. What a
 * process does between its last `confirm` and the next claim, `fencedLock` guards
 * (docs/decisions/0039-a-version-is-claimed-before-it-is-written.md).
 */
export function portableLock(
  file: string,
  command: string,
  { staleMs = defaultStaleMs }: { staleMs?: number } = {},
): Lock {
  const claims = claimsAt(file);
  /** A claim from the future is no better than an old one: the clock has jumped, or is another machine's. */
  const isHeld = (newest: NewestClaim): boolean => Math.abs(Date.now() - newest.renewedMs) < staleMs;

  const holder = (): LockHolder | null => {
    const newest = claims.newest();
    if (!newest || !isHeld(newest)) return null;
    return parseHolder(readSmall(newest.path, mostBytes) ?? "") ?? unknownHolder;
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
  // One that cannot be renewed grows stale, which the next look at it tells.
  const renew = (): Promise<void> => handle.utimes(new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(() => {
    renewing = renew();
  }, renewEveryMs);
  timer.unref();
  const release = async (): Promise<void> => {
    clearInterval(timer);
    await renewing;
    // It stays, so that its number is not made again. If this fails, it grows stale by itself.
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
