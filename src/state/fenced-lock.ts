import type { Lock } from "../ports/lock.ts";
import type { StateFile } from "./state-file.ts";

/**
 * Adds a fence to the lock of a file: a new holder first removes the temporary files of earlier holders. A
 * killed holder left its file behind. A holder that was suspended after its last `confirm` would otherwise
 * rename its file when it continues.
 */
export function fencedLock(lock: Lock, file: Pick<StateFile, "removeUnfinished">): Lock {
  return {
    async hold(waitMs, signal) {
      await using undo = new AsyncDisposableStack();
      const held = undo.use(await lock.hold(waitMs, signal));
      await file.removeUnfinished(() => held.confirm());
      undo.move();
      return held;
    },
    holder: () => lock.holder(),
  };
}
