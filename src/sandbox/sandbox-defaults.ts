import type { ContainerLimits } from "../engine/containers.ts";

/** The default resource limits of a sandbox. */
export const defaultLimits: ContainerLimits = {
  cpus: 2,
  memoryBytes: 4 * 1024 ** 3,
  swapBytes: 0,
  pids: 512,
  descriptors: 8_192,
  diskBytes: 8 * 1024 ** 3,
  files: 1_000_000,
  logBytes: 10 * 1024 ** 2,
};

/** The user ID and the group ID of programs in a sandbox. */
export const sandboxUser = "1000:1000";
/**
 * The user ID and the group ID of a sandbox's main process: root, but without capabilities. Other programs in
 * the sandbox cannot kill a process of root.
 */
export const mainProcessUser = "0:0";

export const defaultTmpBytes: number = 1024 ** 3;
export const defaultWorkdir = "/workspace";
export const defaultMaxOutputLength = 10_000;
