import { isError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";

export type StateChange = (state: SwarmState) => SwarmState;

/** The state file of one worktree: read without a lock, changed inside one. */
export interface StateStore {
  /** Throws STATE_MISSING or STATE_INVALID. */
  read(): Promise<SwarmState>;
  /** The state, or null if there is no swarm here. */
  find(): Promise<SwarmState | null>;
  /** The copy that `git clean` cannot delete, if it is valid. */
  findCopy(): Promise<SwarmState | null>;
  /** Writes a first state; throws STATE_EXISTS when there is one. */
  create(state: SwarmState): Promise<SwarmState>;
  /** Archives the existing state, valid or not, and writes a first state in its place. */
  replace(state: SwarmState): Promise<SwarmState>;
  /** One locked read-change-write; resolves when the change is on the disk. */
  update(change: StateChange): Promise<SwarmState>;
}

/** For callers that continue without a state if it is invalid; rethrows any other error. */
export function nullIfInvalid(error: unknown): null {
  if (isError(error, "STATE_INVALID")) return null;
  throw error;
}
