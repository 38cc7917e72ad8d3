/**
 * A lock that keeps pausing a container and starting programs in it apart, across all processes of this user.
 * If a container is paused while a program starts in it, the engine deadlocks: the start waits for the
 * unpausing, and the unpausing for the start.
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
