import type { LockHolder } from "../domain/lock-holder.ts";

/** A lock that is held until it is disposed of. */
export interface HeldLock extends AsyncDisposable {
  /** Throws LOCK_LOST when the lock has been taken away meanwhile. */
  confirm(): Promise<void>;
}

export type { LockHolder };

/** How long one waits for one's turn: longer than a holder that was killed counts as alive with any kind of lock. */
export const turnMs = 15_000;

/** One lock on one file, among all processes of this machine. */
export interface Lock {
  /** Waits at most `waitMs`, then throws LOCK_TIMEOUT naming the holder. */
  hold(waitMs: number, signal?: AbortSignal): Promise<HeldLock>;
  /** Who holds it now, without waiting and without disturbing; null when nobody does. */
  holder(): Promise<LockHolder | null>;
}
