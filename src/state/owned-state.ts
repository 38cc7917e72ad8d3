import { setImmediate } from "node:timers/promises";
import { type PassPoint, passNothing } from "../domain/crash-points.ts";
import { isError, SwarmError } from "../domain/errors.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { type Lock, turnMs } from "../ports/lock.ts";
import type { StateChange } from "../ports/state-store.ts";
import type { StateFile } from "./state-file.ts";
import { nextRevision } from "./state-store.ts";

export interface OwnedStateDeps {
  readonly file: StateFile;
  /** One that can be stolen must be a fenced one. */
  readonly lock: Lock;
  readonly clock: () => Date;
  /** Told when the lock cannot be had for a while; the changes stay in the queue. */
  readonly onDelay?: (error: SwarmError) => void;
  readonly waitMs?: number;
  /** How long a change may wait that is not needed at once. */
  readonly soonMs?: number;
  readonly passes?: PassPoint;
}

/** The owner's way to the state: changes that come while one write is under way go into the next one together. */
export interface OwnedState extends AsyncDisposable {
  /** Resolves with the state when the change is on the disk. */
  update(change: StateChange): Promise<SwarmState>;
  /** The same in a moment, together with whatever else is asked for until then. */
  updateSoon(change: StateChange): Promise<SwarmState>;
}

interface Waiting {
  readonly change: StateChange;
  readonly resolve: (state: SwarmState) => void;
  readonly reject: (error: unknown) => void;
}

const defaultSoonMs = 1_000;

/** Writes under the state lock all the same: other commands add wishes and new records, and those are kept. */
export function ownedState({
  file,
  lock,
  clock,
  onDelay,
  waitMs = turnMs,
  soonMs = defaultSoonMs,
  passes = passNothing,
}: OwnedStateDeps): OwnedState {
  let closed = false;
  const queue: Waiting[] = [];
  /** Whether somebody in the queue cannot wait. */
  let isDue = false;
  let soon: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  const writeQueue = async (): Promise<void> => {
    while (isDue) {
      try {
        await writeBatch();
      } catch (error) {
        // Nothing was written, and the changes that wait are made upon what others wrote meanwhile.
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
    if (!before) throw new SwarmError("STATE_MISSING", { file: file.places.stateFile });

    // Taken only now, so that everything asked for while the lock was waited for is in it.
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
          passes("during-state-write");
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

  // Begun in a later turn, so that changes made together are written together.
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
