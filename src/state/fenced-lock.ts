import { SwarmError } from "../domain/errors.ts";
import type { Lock } from "../ports/lock.ts";
import type { StateFile } from "./state-file.ts";

/**
 * A lock that can be stolen, made safe for one file: whoever holds it gives up before writing if the file is no longer
 * the one that lay there when the lock was taken.
 */
export function fencedLock(lock: Lock, file: Pick<StateFile, "identity" | "places">): Lock {
  return {
    async hold(waitMs, signal) {
      await using undo = new AsyncDisposableStack();
      const held = undo.use(await lock.hold(waitMs, signal));
      const fence = await file.identity();
      undo.move();
      return {
        async confirm() {
          await held.confirm();
          if ((await file.identity()) !== fence)
            throw new SwarmError("LOCK_LOST", { file: file.places.stateFile });
        },
        [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
      };
    },
    holder: () => lock.holder(),
  };
}
