import { join } from "node:path";
import type { Lock } from "./lock.ts";
import { type ContainerPauseLock, pauseLockNameOf } from "./pause-lock.ts";

const waitMs = 20_000;

/**
 * Creates a pause lock for machines without kernel locks. A process acquires the same exclusive lock to start
 * a program in the container as to pause the container, so programs start one after another.
 */
export function portablePauseLock(
  folder: string,
  lockAt: (file: string) => Promise<Lock>,
): ContainerPauseLock {
  const hold = async (containerId: string, signal?: AbortSignal): Promise<AsyncDisposable> =>
    (await lockAt(join(folder, pauseLockNameOf(containerId)))).acquire(waitMs, signal);
  return { lockForStart: hold, lockForPause: hold };
}
