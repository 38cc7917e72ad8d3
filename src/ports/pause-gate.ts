/**
 * A lock, shared by all processes of this user, so that no program starts in a container while swarm pauses
 * the container. Otherwise the engine can deadlock: the start waits for the unpause, and the unpause waits
 * for the start.
 */
export interface ContainerPauseLock {
  /**
   * Acquires a shared lock, which the caller releases when the program has started. Throws LOCK_TIMEOUT on
   * timeout.
   */
  lockForStart(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /**
   * Acquires an exclusive lock, which the caller releases when the container is paused. Throws LOCK_TIMEOUT
   * on timeout.
   */
  lockForPause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}
