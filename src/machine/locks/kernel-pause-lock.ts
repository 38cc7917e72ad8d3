import { join } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { acquireKernelLock } from "./kernel-lock.ts";
import { type ContainerPauseLock, pauseLockNameOf } from "./pause-lock.ts";

const defaultWaitMs = 20_000;

/**
 * Creates a pause lock from two kernel locks. A process that starts a program in the container holds the file
 * `.room` as a shared lock; a process that pauses the container holds it exclusively. Both first acquire the
 * file `.door`, which a pausing process keeps while it waits for `.room`, so that new starts cannot delay the
 * pause without end.
 */
export function kernelPauseLock(
  folder: string,
  { waitMs = defaultWaitMs }: { readonly waitMs?: number } = {},
): ContainerPauseLock {
  const hold = async (
    name: string,
    { shared, holder }: { readonly shared: boolean; readonly holder: string },
    signal?: AbortSignal,
  ): Promise<AsyncDisposable> => {
    const file = join(folder, name);
    const handle = await acquireKernelLock(file, { waitMs, shared }, signal);
    if (!handle) throw new SwarmError("LOCK_TIMEOUT", { file, waitedMs: waitMs, holder });
    return handle;
  };
  const pausing = "another process that pauses the container";
  const starting = "another process that starts a program in the container";

  return {
    async lockForStart(containerId, signal) {
      const name = pauseLockNameOf(containerId);
      const options = { shared: true, holder: pausing };
      await using _turnstile = await hold(`${name}.door`, options, signal);
      return await hold(`${name}.room`, options, signal);
    },

    async lockForPause(containerId, signal) {
      const name = pauseLockNameOf(containerId);
      await using undo = new AsyncDisposableStack();
      undo.use(await hold(`${name}.door`, { shared: false, holder: pausing }, signal));
      undo.use(await hold(`${name}.room`, { shared: false, holder: starting }, signal));
      return undo.move();
    },
  };
}
