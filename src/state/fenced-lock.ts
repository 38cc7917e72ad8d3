import type { Lock } from "../ports/lock.ts";
import type { StateFile } from "./state-file.ts";

/**
 * Fences a file's lock: a new holder first removes the temporary files of earlier holders. Otherwise a holder that
 * was suspended between its last `confirm` and its rename would overwrite a newer state when it continues.
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
