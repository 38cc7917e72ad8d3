import { join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { acquireKernelLock } from "./kernel-lock.ts";
import type { ContainerPauseLock } from "./pause-lock.ts";

const defaultWaitMs = 20_000;

/**
 * Creates a pause lock from two kernel locks. A process that starts a program in the container holds `starts`
 * as a shared lock; a process that pauses the container holds `starts` exclusively. Both first acquire
 * `turnstile`, which a pausing process keeps while it waits for `starts`, so that new starts cannot delay the
 * pause without end.
 */
export function kernelPauseLock(
  folder: string,
  { waitMs = defaultWaitMs }: { readonly waitMs?: number } = {},
): ContainerPauseLock {
  const hold = async (
    { name, shared }: { readonly name: string; readonly shared: boolean },
    holder: string,
    signal?: AbortSignal,
  ): Promise<AsyncDisposable> => {
    const file = join(folder, name);
    const handle = await acquireKernelLock(file, { waitMs, shared }, signal);
    if (!handle) throw new SwarmError("LOCK_TIMEOUT", { file, waitedMs: waitMs, holder });
    return handle;
  };

  return {
    async lockForStart(containerId, signal) {
      const { turnstile, starts } = filesFor(containerId);
      await using _turnstile = await hold(
        { name: turnstile, shared: true },
        "another process that pauses the container",
        signal,
      );
      return await hold({ name: starts, shared: true }, "another process that pauses the container", signal);
    },

    async lockForPause(containerId, signal) {
      const { turnstile, starts } = filesFor(containerId);
      await using undo = new AsyncDisposableStack();
      undo.use(
        await hold({ name: turnstile, shared: false }, "another process that pauses the container", signal),
      );
      undo.use(
        await hold(
          { name: starts, shared: false },
          "another process that starts a program in the container",
          signal,
        ),
      );
      return undo.move();
    },
  };
}

/**
 * Returns the name of the pause lock for the given container, which is one of 256 names. Two containers
 * seldom share a lock, and so few lock files need no removal.
 */
export function pauseLockNameOf(containerId: string): string {
  return containerId.slice(0, 2);
}

function filesFor(containerId: string): { readonly turnstile: string; readonly starts: string } {
  const name = pauseLockNameOf(containerId);
  return { turnstile: `${name}.door`, starts: `${name}.room` };
}
