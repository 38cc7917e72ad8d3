import type { LockHolder } from "../domain/lock-holder.ts";

/** A held lock; disposing releases it. */
export interface HeldLock extends AsyncDisposable {
  /** Throws LOCK_LOST if the lock no longer belongs to this process. */
  confirm(): Promise<void>;
}

export type { LockHolder };

/** The timeout for getting a lock: longer than any kind of lock takes to notice that its holder was killed. */
export const lockTimeoutMs = 15_000;

/** A lock on one file, among all processes of this machine. */
export interface Lock {
  /** Waits at most `waitMs`, then throws LOCK_TIMEOUT naming the holder. */
  hold(waitMs: number, signal?: AbortSignal): Promise<HeldLock>;
  /** The current holder, found without waiting for or affecting the lock; null if the lock is free. */
  holder(): Promise<LockHolder | null>;
}
