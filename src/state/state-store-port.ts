import { isError } from "../errors/errors.ts";
import type { SwarmState } from "./rules/swarm-state.ts";

export type StateChange = (state: SwarmState) => SwarmState;

/** The stored state of a worktree's swarm. Reads need no lock; every write acquires the state lock. */
export interface StateStore {
  /**
   * Returns the state. Throws STATE_MISSING if the worktree has no state, and STATE_INVALID if the state is
   * invalid.
   */
  read(): Promise<SwarmState>;
  /** Returns the state; null if the worktree has no state. */
  find(): Promise<SwarmState | null>;
  /**
   * Returns the backup copy of the state, which is out of reach of `git clean`; null if the copy is missing
   * or invalid.
   */
  findCopy(): Promise<SwarmState | null>;
  /** Writes the worktree's first state; throws STATE_EXISTS if the worktree already has a state. */
  create(state: SwarmState): Promise<SwarmState>;
  /**
   * Archives the worktree's present state, even if it is invalid, and writes the given state in its place.
   */
  replace(state: SwarmState): Promise<SwarmState>;
  /**
   * Reads the state, applies a change and writes the new state, under the state lock. Resolves when the new
   * state is on the disk.
   */
  update(change: StateChange): Promise<SwarmState>;
}

/**
 * An error handler for callers that can continue without a state. Returns null for STATE_INVALID, and
 * rethrows any other error.
 */
export function nullIfStateInvalid(error: unknown): null {
  if (isError(error, "STATE_INVALID")) return null;
  throw error;
}
