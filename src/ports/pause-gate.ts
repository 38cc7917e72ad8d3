/**
 * A lock, shared by all processes of this user, that prevents programs from starting in a container while
 * swarm pauses the container. Otherwise the engine deadlocks: the start waits until the container is
 * unpaused, and unpausing waits for the start.
 */
export interface PauseGate {
  /**
   * Acquires a shared lock, to hold until a program has started. Pauses that wait go first. Throws
   * LOCK_TIMEOUT after waiting.
   */
  begin(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /** Acquires an exclusive lock, to hold until the container is paused. Throws LOCK_TIMEOUT after waiting. */
  pause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}
