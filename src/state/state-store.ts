import { SwarmError } from "../errors/errors.ts";
import { type HeldLock, type Lock, lockTimeoutMs } from "../machine/locks/lock.ts";
import type { SwarmState } from "./rules/swarm-state.ts";
import type { StateFile } from "./state-file.ts";

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

export interface StateStoreDeps {
  readonly file: StateFile;
  /**
   * The lock of the state file. It must be a fenced lock: one that removes the temporary files of earlier
   * holders when a process acquires it.
   */
  readonly lock: Lock;
  readonly clock: () => Date;
  readonly waitMs?: number;
}

/**
 * Opens the state of one worktree for commands, which seldom change it. The owner changes the state often,
 * and uses `openOwnerState` instead.
 */
export function stateStore({ file, lock, clock, waitMs = lockTimeoutMs }: StateStoreDeps): StateStore {
  const stateFile = file.paths.stateFile;

  /**
   * Returns the state; null if the worktree has none. If only the backup copy exists, for example after `git
   * clean -fdx`, restores the state file from the copy, because other programs read the state file.
   */
  const find = async (): Promise<SwarmState | null> => {
    const found = await file.findWithOrigin();
    if (found?.isCopy) await restore();
    return found?.state ?? null;
  };

  const restore = async (): Promise<void> => {
    await using held = await lock.acquire(waitMs);
    const found = await file.findWithOrigin();
    if (found?.isCopy) await file.write(found.state, () => held.confirm());
  };

  const read = async (): Promise<SwarmState> => {
    const state = await find();
    if (!state) throw new SwarmError("STATE_MISSING", { file: stateFile });
    return state;
  };

  const write = async (state: SwarmState, held: HeldLock): Promise<SwarmState> => {
    await file.write(state, () => held.confirm());
    return state;
  };

  return {
    read,
    find,
    findCopy: () => file.findCopy(),

    async create(state) {
      await using held = await lock.acquire(waitMs);
      const present = await file.find();
      if (present) throw new SwarmError("STATE_EXISTS", { file: stateFile, swarmId: present.swarmId });
      return await write(state, held);
    },

    async replace(state) {
      await using held = await lock.acquire(waitMs);
      await file.archive();
      return await write(state, held);
    },

    async update(change: StateChange) {
      await using held = await lock.acquire(waitMs);
      const before = await file.find();
      if (!before) throw new SwarmError("STATE_MISSING", { file: stateFile });
      const after = change(before);
      if (after === before) return before;
      return await write(stateWithNextRevision(after, before.revision, clock()), held);
    },
  };
}

/** Returns `state` with the next revision number, and with `now` as the time of its last change. */
export function stateWithNextRevision(state: SwarmState, revision: number, now: Date): SwarmState {
  return { ...state, revision: revision + 1, updatedAt: now.toISOString() };
}
