import type { LockHolder } from "../domain/lock-holder.ts";

/** A lock that this process holds. Disposing releases the lock. */
export interface HeldLock extends AsyncDisposable {
  /** Throws LOCK_LOST if this process no longer holds the lock. */
  confirm(): Promise<void>;
}

export type { LockHolder };

/** The timeout for acquiring a lock. A lock whose holder was killed becomes free in less time. */
export const lockTimeoutMs = 15_000;

/** A lock that all processes of this machine respect, backed by one file. */
export interface Lock {
  /**
   * Acquires the lock. Throws LOCK_TIMEOUT with the holder if the lock stays held for `waitMs` milliseconds.
   */
  acquire(waitMs: number, signal?: AbortSignal): Promise<HeldLock>;
  /** Returns the current holder; null if the lock is free. Neither waits for the lock nor affects it. */
  holder(): Promise<LockHolder | null>;
}
