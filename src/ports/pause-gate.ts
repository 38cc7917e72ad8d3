/**
 * A lock between pausing a container and starting programs in it, among all processes of this user. If a container is
 * paused while a program starts in it, the engine deadlocks and can never unpause it: the start waits for the paused
 * container, and unpausing waits for the start.
 */
export interface PauseGate {
  /** A shared lock, held until a program has started; a waiting pause comes first. Throws LOCK_TIMEOUT after waiting. */
  begin(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /** An exclusive lock, held until the container is paused. Throws LOCK_TIMEOUT after waiting. */
  pause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}
