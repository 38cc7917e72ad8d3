import { SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/lock.ts";
import type { ContainerPauseLock } from "../machine/pause-lock.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";

export interface LockFactory {
  readonly lockKind: () => "kernel" | "portable";
  readonly lockAt: (file: string) => Promise<Lock>;
  readonly gateAt: (folder: string) => Promise<ContainerPauseLock>;
}

/**
 * Creates file locks, and the locks under which containers are paused. The environment variable `SWARM_LOCK`
 * chooses the implementation of both: `kernel` or `portable`.
 */
export function createLockFactory({
  env,
  command,
}: {
  readonly env: EnvironmentVariables;
  /**
   * The command line of this process. While this process holds a lock, other processes show the command line
   * to their users to name the holder.
   */
  readonly command: string;
}): LockFactory {
  const lockKind = (): "kernel" | "portable" => {
    const value = env["SWARM_LOCK"] || "kernel";
    if (value === "kernel" || value === "portable") return value;
    throw new SwarmError("INVALID_VALUE", { name: "SWARM_LOCK", value, expected: "kernel or portable" });
  };

  const lockAt = async (file: string): Promise<Lock> => {
    if (lockKind() === "portable")
      return (await import("../machine/portable-lock.ts")).portableLock(file, command);
    return (await import("../machine/kernel-lock.ts")).kernelLock(file, command);
  };

  const gateAt = async (folder: string): Promise<ContainerPauseLock> => {
    if (lockKind() === "portable")
      return (await import("../machine/portable-pause-lock.ts")).portablePauseLock(folder, lockAt);
    return (await import("../machine/kernel-pause-lock.ts")).kernelPauseLock(folder);
  };

  return { lockKind, lockAt, gateAt };
}
