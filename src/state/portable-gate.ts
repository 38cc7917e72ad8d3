import { join } from "node:path";
import type { Lock } from "../ports/lock.ts";
import type { PauseGate } from "../ports/pause-gate.ts";
import { gateNameOf } from "./kernel-gate.ts";

const waitMs = 20_000;

/**
 * Creates the gate for machines without kernel locks. Starts and pauses take the same exclusive lock, so
 * programs start one after another.
 */
export function portableGate(folder: string, lockAt: (file: string) => Promise<Lock>): PauseGate {
  const hold = async (containerId: string, signal?: AbortSignal): Promise<AsyncDisposable> =>
    (await lockAt(join(folder, gateNameOf(containerId)))).hold(waitMs, signal);
  return { begin: hold, pause: hold };
}
