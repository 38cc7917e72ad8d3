import { SwarmError } from "../../errors/errors.ts";
import { once } from "../../text/once.ts";
import type { EnvironmentVariables } from "../user-folders.ts";
import type { Lock } from "./lock.ts";
import type { ContainerPauseLock } from "./pause-lock.ts";

/** The locks between the processes of this user. */
export interface Locks {
  /** Whether the locks are locks of the kernel. No process can break a kernel lock. */
  readonly areKernelLocks: () => boolean;
  /** Returns the lock that a file stands for. Its implementation loads when the lock is first used. */
  readonly at: (file: string) => Lock;
  /** Opens the lock under which a container is paused. `folder` contains the locks' files. */
  readonly pauseLock: (folder: string) => Promise<ContainerPauseLock>;
}

/**
 * Opens file locks, and the locks under which containers are paused. The environment variable `SWARM_LOCK`
 * chooses the implementation of both: `kernel` or `portable`. `command` is the command line of this process:
 * while it holds a lock, other processes show the command line to name the holder.
 */
export function openLocks(env: EnvironmentVariables, command: string): Locks {
  const areKernelLocks = (): boolean => {
    const value = env["SWARM_LOCK"] || "kernel";
    if (value === "kernel" || value === "portable") return value === "kernel";
    throw new SwarmError("INVALID_VALUE", { name: "SWARM_LOCK", value, expected: "kernel or portable" });
  };

  const open = async (file: string): Promise<Lock> =>
    areKernelLocks()
      ? (await import("./kernel-lock.ts")).kernelLock(file, command)
      : (await import("./portable-lock.ts")).portableLock(file, command);

  return {
    areKernelLocks,
    at(file) {
      const lock = once(() => open(file));
      return {
        acquire: async (waitMs, signal) => (await lock()).acquire(waitMs, signal),
        holder: async () => (await lock()).holder(),
      };
    },
    pauseLock: async (folder) =>
      areKernelLocks()
        ? (await import("./kernel-pause-lock.ts")).kernelPauseLock(folder)
        : (await import("./portable-pause-lock.ts")).portablePauseLock(folder, open),
  };
}
