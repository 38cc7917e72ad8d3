/**
 * Keeps the pauses of a container and the beginnings of programs in it apart, among all processes of this user. A container
 * that is frozen while a program begins in it can never be thawed by its engine: what begins the program waits for the frozen
 * container, and what would thaw it waits for that.
 */
export interface PauseGate {
  /** Held until a program has begun: many at once, none while a pause waits or is made. Waits, then throws LOCK_TIMEOUT. */
  begin(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
  /** Held until the container is frozen: alone. Waits, then throws LOCK_TIMEOUT. */
  pause(containerId: string, signal?: AbortSignal): Promise<AsyncDisposable>;
}
