import type { LockHolder } from "../../text/lock-holder.ts";

/** A lock that this process holds. Disposing releases the lock. */
export interface HeldLock extends AsyncDisposable {
  /** Checks that this process still holds the lock; throws LOCK_LOST if it does not. */
  confirm(): Promise<void>;
}

export type { LockHolder };

/**
 * The timeout for acquiring a lock, in milliseconds. If a lock's holder is killed, the lock becomes free
 * sooner.
 */
export const lockTimeoutMs = 15_000;

/** A lock between the processes of this machine, backed by a file. */
export interface Lock {
  /**
   * Acquires the lock. If another process still holds the lock after `waitMs` milliseconds, throws
   * LOCK_TIMEOUT, which names the holder.
   */
  acquire(waitMs: number, signal?: AbortSignal): Promise<HeldLock>;
  /** Returns the current holder of the lock, without waiting; null if the lock is free. */
  holder(): Promise<LockHolder | null>;
}
