import type { ContainerLimits } from "../ports/containers.ts";

/** What a sandbox gets where nobody says otherwise. */
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

/** Who programs in a sandbox are. Its main process is another one, root without any right, that they cannot stop. */
export const sandboxUser = "1000:1000";
export const mainUser = "0:0";

export const defaultTmpBytes: number = 1024 ** 3;
export const defaultWorkdir = "/workspace";
export const defaultPrefix = "aimi-";
export const defaultCommandTimeoutMs = 60_000;
export const defaultOutputLimit = 10_000;
