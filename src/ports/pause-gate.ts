/**
 * A lock, shared by all processes of this user, that prevents programs from starting in a container while
 * swarm pauses the container. Otherwise the engine deadlocks: the start waits until the container is
 * unpaused, and unpausing waits for the start.
 */
export interface ContainerPauseLock {
  /**
   * Acquires a shared lock, to hold until a program has started. Pauses that wait go first. Throws
   * LOCK_TIMEOUT after waiting.
   */
  lockForStart(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /** Acquires an exclusive lock, to hold until the container is paused. Throws LOCK_TIMEOUT after waiting. */
  lockForPause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}
