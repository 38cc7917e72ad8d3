import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { waitToHold } from "./kernel-lock.ts";

const defaultWaitMs = 20_000;

/**
 * A gate of two kernel locks, each of which ends with its holder. Starting programs share the lock `room`; a
 * pause holds it exclusively. Both take the lock `door` first, and a pause keeps it while it waits for
 * `room`. Otherwise a steady stream of starting programs would starve the pause.
 */
export function kernelGate(
  folder: string,
  { waitMs = defaultWaitMs }: { readonly waitMs?: number } = {},
): PauseGate {
  const hold = async (
    { name, shared }: { readonly name: string; readonly shared: boolean },
    holder: string,
    signal?: AbortSignal,
  ): Promise<AsyncDisposable> => {
    const file = join(folder, name);
    const handle = await waitToHold(file, { waitMs, shared }, signal);
    if (!handle) throw new SwarmError("LOCK_TIMEOUT", { file, waitedMs: waitMs, holder });
    return handle;
  };

  return {
    async begin(containerId, signal) {
      const { door, room } = filesFor(containerId);
      await using _door = await hold({ name: door, shared: true }, "a pause of this container", signal);
      return await hold({ name: room, shared: true }, "a pause of this container", signal);
    },

    async pause(containerId, signal) {
      const { door, room } = filesFor(containerId);
      await using undo = new AsyncDisposableStack();
      undo.use(await hold({ name: door, shared: false }, "another pause of this container", signal));
      undo.use(await hold({ name: room, shared: false }, "a program that starts in this container", signal));
      return undo.move();
    },
  };
}

/**
 * Container ids are random, so two containers seldom share one of 256 gates; 256 files are few enough to keep
 * for ever.
 */
export function gateNameOf(containerId: string): string {
  return containerId.slice(0, 2);
}

function filesFor(containerId: string): { readonly door: string; readonly room: string } {
  const name = gateNameOf(containerId);
  return { door: `${name}.door`, room: `${name}.room` };
}
