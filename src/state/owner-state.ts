import { setImmediate } from "node:timers/promises";
import { isError, SwarmError } from "../errors/errors.ts";
import { type CrashHook, noCrashHook } from "../machine/crash-points.ts";
import { type Lock, lockTimeoutMs } from "../machine/locks/lock.ts";
import type { SwarmState } from "./rules/swarm-state.ts";
import type { StateFile } from "./state-file.ts";
import type { StateChange } from "./state-store.ts";
import { stateWithNextRevision } from "./state-store.ts";

export interface OwnerStateDeps {
  readonly file: StateFile;
  /**
   * The lock of the state file. If other processes can take the lock from a holder that does not renew it, it
   * must be a fenced lock.
   */
  readonly lock: Lock;
  readonly clock: () => Date;
  /**
   * Called each time that waiting for the lock of the state file times out. The changes stay in the queue,
   * and the writer tries again.
   */
  readonly onDelay?: (error: SwarmError) => void;
  readonly waitMs?: number;
  /** The maximum time in milliseconds that a change passed to `updateInBatch` waits before it is written. */
  readonly maxBatchDelayMs?: number;
  readonly crashPoint?: CrashHook;
}

/**
 * The owner's access to the state of the swarm. Changes that arrive during a write are written together in
 * the next write.
 */
export interface OwnerStateWriter extends AsyncDisposable {
  /** Applies a change to the state. Resolves with the new state when it is on disk. */
  update(change: StateChange): Promise<SwarmState>;
  /**
   * Applies a change like `update`, but waits up to `maxBatchDelayMs` first. All changes that arrive
   * meanwhile are written in one batch.
   */
  updateInBatch(change: StateChange): Promise<SwarmState>;
}

interface Waiting {
  readonly change: StateChange;
  readonly resolve: (state: SwarmState) => void;
  readonly reject: (error: unknown) => void;
}

const defaultSoonMs = 1_000;

/**
 * Opens the state for the owner of the swarm. The owner acquires the lock of the state file for each write,
 * because other processes write to this file, too.
 */
export function openOwnerState({
  file,
  lock,
  clock,
  onDelay,
  waitMs = lockTimeoutMs,
  maxBatchDelayMs = defaultSoonMs,
  crashPoint = noCrashHook,
}: OwnerStateDeps): OwnerStateWriter {
  let closed = false;
  const queue: Waiting[] = [];
  /** Whether the queue holds a change that must be written now. */
  let isDue = false;
  let soon: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  const writeQueue = async (): Promise<void> => {
    while (isDue) {
      try {
        await writeBatch();
      } catch (error) {
        // Nothing was written, so apply the queued changes again, to the state that the next holder wrote.
        if (isError(error, "LOCK_LOST")) continue;
        if (!isError(error, "LOCK_TIMEOUT") || closed) {
          for (const { reject } of takeQueue()) reject(error);
          return;
        }
        onDelay?.(error);
      }
    }
  };

  const writeBatch = async (): Promise<void> => {
    await using held = await lock.acquire(waitMs);
    const before = await file.find();
    if (!before) throw new SwarmError("STATE_MISSING", { file: file.paths.stateFile });

    // Take the queue only now, so that the batch includes changes that arrived during the wait for the lock.
    const { applied, changed } = applyChanges(takeQueue(), before);
    let after = changed;
    try {
      if (changed !== before) {
        after = stateWithNextRevision(changed, before.revision, clock());
        await file.write(after, async () => {
          crashPoint("during-state-write");
          await held.confirm();
        });
      }
      for (const { resolve } of applied) resolve(after);
    } catch (error) {
      if (isError(error, "LOCK_LOST")) {
        queue.unshift(...applied);
        isDue = true;
        throw error;
      }
      for (const { reject } of applied) reject(error);
    }
  };

  // Start in a later turn of the event loop, so that changes made together form one batch.
  const start = (): void => {
    isDue = true;
    writing ??= setImmediate()
      .then(writeQueue)
      .finally(() => {
        writing = undefined;
        if (isDue) start();
      });
  };

  const takeQueue = (): Waiting[] => {
    clearTimeout(soon);
    soon = undefined;
    isDue = false;
    return queue.splice(0);
  };

  const enqueue = (change: StateChange, plan: () => void): Promise<SwarmState> => {
    if (closed) return Promise.reject(new Error("the owner of the swarm has ended"));
    const { promise, resolve, reject } = Promise.withResolvers<SwarmState>();
    queue.push({ change, resolve, reject });
    plan();
    return promise;
  };

  return {
    update: (change) => enqueue(change, start),

    updateInBatch: (change) =>
      enqueue(change, () => {
        soon ??= setTimeout(start, maxBatchDelayMs);
      }),

    async [Symbol.asyncDispose]() {
      closed = true;
      if (queue.length > 0) start();
      while (writing) await writing;
    },
  };
}

/** Applies the changes to the state, one after another, and rejects each change that throws. */
function applyChanges(
  batch: readonly Waiting[],
  before: SwarmState,
): { readonly applied: readonly Waiting[]; readonly changed: SwarmState } {
  let changed = before;
  const applied = batch.filter(({ change, reject }) => {
    try {
      changed = change(changed);
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  });
  return { applied, changed };
}
