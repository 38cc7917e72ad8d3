import { SwarmError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { type HeldLock, type Lock, lockTimeoutMs } from "../ports/lock.ts";
import type { StateChange, StateStore } from "../ports/state-store.ts";
import type { StateFile } from "./state-file.ts";

export interface StateStoreDeps {
  readonly file: StateFile;
  /**
   * Fenced lock: commands remove the temporary files of earlier holders, so that not every write of the owner
   * has to.
   */
  readonly lock: Lock;
  readonly clock: () => Date;
  readonly waitMs?: number;
}

/** The state of one worktree, for commands that change it once. The owner writes it through `ownedState`. */
export function stateStore({ file, lock, clock, waitMs = lockTimeoutMs }: StateStoreDeps): StateStore {
  const stateFile = file.paths.stateFile;

  /** Restores the file from its copy after `git clean -fdx`, for other programs that read it. */
  const find = async (): Promise<SwarmState | null> => {
    const found = await file.findWithOrigin();
    if (found?.isCopy) await restore();
    return found?.state ?? null;
  };

  const restore = async (): Promise<void> => {
    await using held = await lock.hold(waitMs);
    const found = await file.findWithOrigin();
    if (found?.isCopy) await file.write(found.state, { beforeRename: () => held.confirm() });
  };

  const read = async (): Promise<SwarmState> => {
    const state = await find();
    if (!state) throw new SwarmError("STATE_MISSING", { file: stateFile });
    return state;
  };

  const write = async (state: SwarmState, held: HeldLock): Promise<SwarmState> => {
    await file.write(state, { beforeRename: () => held.confirm() });
    return state;
  };

  return {
    read,
    find,
    findCopy: () => file.findCopy(),

    async create(state) {
      await using held = await lock.hold(waitMs);
      const present = await file.find();
      if (present) throw new SwarmError("STATE_EXISTS", { file: stateFile, swarmId: present.swarmId });
      return await write(state, held);
    },

    async replace(state) {
      await using held = await lock.hold(waitMs);
      await file.archive();
      return await write(state, held);
    },

    async update(change: StateChange) {
      await using held = await lock.hold(waitMs);
      const before = await file.find();
      if (!before) throw new SwarmError("STATE_MISSING", { file: stateFile });
      const after = change(before);
      if (after === before) return before;
      return await write(nextRevision(after, before.revision, clock()), held);
    },
  };
}

/** The changed state with the next revision and the present time. */
export function nextRevision(state: SwarmState, revision: number, now: Date): SwarmState {
  return { ...state, revision: revision + 1, updatedAt: now.toISOString() };
}
