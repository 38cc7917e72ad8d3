import type { Lock } from "../ports/lock.ts";
import type { StateFile } from "./state-file.ts";

/**
 * A lock for one file. A process that gets it first removes whatever earlier holders have written and not renamed yet: the
 * killed ones left it behind, and one that was stopped after its last look at the lock would rename it when it goes on.
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
