import { isError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";

export type StateChange = (state: SwarmState) => SwarmState;

/** The stored state of a worktree's swarm. Reading needs no lock; every change acquires the state lock. */
export interface StateStore {
  /** Returns the state; throws STATE_MISSING or STATE_INVALID. */
  read(): Promise<SwarmState>;
  /** Returns the state; null if the worktree has no swarm. */
  find(): Promise<SwarmState | null>;
  /**
   * Returns the backup copy of the state, which `git clean` cannot delete; null if the copy is missing or
   * invalid.
   */
  findCopy(): Promise<SwarmState | null>;
  /** Writes the first state; throws STATE_EXISTS if there is one already. */
  create(state: SwarmState): Promise<SwarmState>;
  /** Archives the existing state, even if it is invalid, and writes a first state in its place. */
  replace(state: SwarmState): Promise<SwarmState>;
  /** Reads, changes and writes the state under the lock. Resolves when the new state is on the disk. */
  update(change: StateChange): Promise<SwarmState>;
}

/**
 * An error handler for callers that can continue without a state. It returns null for STATE_INVALID and
 * rethrows any other error.
 */
export function nullIfStateInvalid(error: unknown): null {
  if (isError(error, "STATE_INVALID")) return null;
  throw error;
}
