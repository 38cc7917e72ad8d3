import type { Lock } from "../machine/locks/lock.ts";
import type { Locks } from "../machine/locks/open-locks.ts";
import type { StateFile } from "./state-file.ts";

/**
 * Wraps the lock of the state file so that a new holder first removes the temporary files of earlier holders.
 * Otherwise an earlier holder that was suspended before it renamed its temporary file could overwrite a newer
 * state.
 */
export function fencedLock(lock: Lock, file: Pick<StateFile, "removeUnfinished">): Lock {
  return {
    async acquire(waitMs, signal) {
      await using undo = new AsyncDisposableStack();
      const held = undo.use(await lock.acquire(waitMs, signal));
      await file.removeUnfinished(() => held.confirm());
      undo.move();
      return held;
    },
    holder: () => lock.holder(),
  };
}

/** The owner's lock on the state file. A kernel lock needs no fencing, because no process can break it. */
export function ownerStateLock(
  lock: Lock,
  file: Pick<StateFile, "removeUnfinished">,
  { areKernelLocks }: Pick<Locks, "areKernelLocks">,
): Lock {
  return areKernelLocks() ? lock : fencedLock(lock, file);
}
