import { join } from "node:path";
import type { Lock } from "../ports/lock.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { gateNameOf } from "./kernel-gate.ts";

const waitMs = 20_000;

/** For where the kernel keeps no locks: one lock for beginnings and pauses alike, so that programs begin one after the other. */
export function portableGate(folder: string, lockAt: (file: string) => Promise<Lock>): PauseGate {
  const hold = async (containerId: string, signal?: AbortSignal): Promise<AsyncDisposable> =>
    (await lockAt(join(folder, gateNameOf(containerId)))).hold(waitMs, signal);
  return { begin: hold, pause: hold };
}
