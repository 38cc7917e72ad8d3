import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerPauseLock } from "../ports/pause-gate.ts";
import { acquireKernelLock } from "./kernel-lock.ts";

const defaultWaitMs = 20_000;

/**
 * Creates a gate from two kernel locks, each of which ends with its holder. Starting programs share the lock
 * `starts`; a pause holds that lock exclusively. Both take the lock `turnstile` first, and a pause keeps it
 * while waiting for `starts`. Otherwise a steady stream of starting programs would starve the pause.
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
 * Returns the gate's name for a container. Container IDs are random, so two containers seldom share one of
 * the 256 gates. 256 files are few enough to keep for ever.
 */
export function pauseLockNameOf(containerId: string): string {
  return containerId.slice(0, 2);
}

function filesFor(containerId: string): { readonly turnstile: string; readonly starts: string } {
  const name = pauseLockNameOf(containerId);
  return { turnstile: `${name}.door`, starts: `${name}.room` };
}
