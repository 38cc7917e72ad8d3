import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { waitToHold } from "./kernel-lock.ts";

const defaultWaitMs = 20_000;

/**
 * A gate of two files that the kernel keeps locks on, so that each lock ends with its holder. The room is shared by
 * beginnings; a pause has it alone. The door is passed by both, and a pause keeps it shut while it waits for the room: else
 * there could always be one more beginning.
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
      undo.use(await hold({ name: room, shared: false }, "a program that begins in this container", signal));
      return undo.move();
    },
  };
}

/** Ids are random: 256 gates are enough that two containers seldom share one, and few enough to be left lying. */
export function gateNameOf(containerId: string): string {
  return containerId.slice(0, 2);
}

function filesFor(containerId: string): { readonly door: string; readonly room: string } {
  const name = gateNameOf(containerId);
  return { door: `${name}.door`, room: `${name}.room` };
}
