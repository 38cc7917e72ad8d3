import { setImmediate } from "node:timers/promises";
import { type CrashHook, noCrashHook } from "../domain/crash-points.ts";
import { isError, SwarmError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { type Lock, lockTimeoutMs } from "../ports/lock.ts";
import type { StateChange } from "../ports/state-store.ts";
import type { StateFile } from "./state-file.ts";
import { nextRevision } from "./state-store.ts";

export interface OwnedStateDeps {
  readonly file: StateFile;
  /** Lock of the state; a lock that can be stolen must be fenced. */
  readonly lock: Lock;
  readonly clock: () => Date;
  /** Called when waiting for the lock times out; the changes stay in the queue. */
  readonly onDelay?: (error: SwarmError) => void;
  readonly waitMs?: number;
  /** Maximum time that a change of `updateSoon` waits for others. */
  readonly soonMs?: number;
  readonly crashPoint?: CrashHook;
}

/** The owner's access to the state. Changes that arrive during a write form the next batch. */
export interface OwnedState extends AsyncDisposable {
  /** Resolves with the state once the change is on disk. */
  update(change: StateChange): Promise<SwarmState>;
  /** The same after at most `soonMs`, in one batch with all changes until then. */
  updateSoon(change: StateChange): Promise<SwarmState>;
}

interface Waiting {
  readonly change: StateChange;
  readonly resolve: (state: SwarmState) => void;
  readonly reject: (error: unknown) => void;
}

const defaultSoonMs = 1_000;

/** The owner, too, writes under the state lock, so that commands and records of other processes are not lost. */
export function ownedState({
  file,
  lock,
  clock,
  onDelay,
  waitMs = lockTimeoutMs,
  soonMs = defaultSoonMs,
  crashPoint = noCrashHook,
}: OwnedStateDeps): OwnedState {
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
        // Nothing was written; apply the queued changes to the state that the next holder wrote.
        if (isError(error, "LOCK_LOST")) continue;
        if (!isError(error, "LOCK_TIMEOUT") || closed) {
          rejectAll(error);
          return;
        }
        onDelay?.(error);
      }
    }
  };

  const writeBatch = async (): Promise<void> => {
    await using held = await lock.hold(waitMs);
    const before = await file.find();
    if (!before) throw new SwarmError("STATE_MISSING", { file: file.paths.stateFile });

    // Take the queue only now, so that the batch includes changes that arrived while waiting for the lock.
    const batch = takeQueue();
    const applied: Waiting[] = [];
    let after = before;
    for (const waiting of batch) {
      try {
        after = waiting.change(after);
        applied.push(waiting);
      } catch (error) {
        waiting.reject(error);
      }
    }
    try {
      if (after !== before) {
        after = nextRevision(after, before.revision, clock());
        const beforeRename = async (): Promise<void> => {
          crashPoint("during-state-write");
          await held.confirm();
        };
        await file.write(after, { beforeRename });
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

  // Starts in a later turn of the event loop, so that changes made together form one batch.
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

  const rejectAll = (error: unknown): void => {
    for (const { reject } of takeQueue()) reject(error);
  };

  const enqueue = (change: StateChange): Promise<SwarmState> => {
    if (closed) return Promise.reject(new Error("the owner has ended"));
    const { promise, resolve, reject } = Promise.withResolvers<SwarmState>();
    queue.push({ change, resolve, reject });
    return promise;
  };

  return {
    update(change) {
      const updated = enqueue(change);
      if (!closed) start();
      return updated;
    },

    updateSoon(change) {
      const updated = enqueue(change);
      if (!closed) soon ??= setTimeout(start, soonMs);
      return updated;
    },

    async [Symbol.asyncDispose]() {
      closed = true;
      if (queue.length > 0) start();
      while (writing) await writing;
    },
  };
}
