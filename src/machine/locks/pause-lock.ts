/**
 * A lock between the processes of this user, one per container. It ensures that no program starts in a
 * container while swarm pauses the container. Otherwise, the engine can deadlock: the start waits for the
 * unpause, and the unpause waits for the start.
 */
export interface ContainerPauseLock {
  /**
   * Acquires the container's lock for the start of a program. The caller releases the lock when the program
   * has started. Throws LOCK_TIMEOUT on timeout.
   */
  lockForStart(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /**
   * Acquires the container's lock for a pause. The caller releases the lock when the container is paused.
   * Throws LOCK_TIMEOUT on timeout.
   */
  lockForPause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}

/**
 * Returns the name of the pause lock for the given container, which is one of 256 names. Two containers
 * seldom share a lock, and so few lock files need no removal.
 */
export function pauseLockNameOf(containerId: string): string {
  return containerId.slice(0, 2);
}
