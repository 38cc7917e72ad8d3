import type { CrashHook } from "./crash-points.ts";
import type { Locks } from "./locks/open-locks.ts";
import type { EnvironmentVariables, UserFolders } from "./user-folders.ts";

/** This machine and its user, as the command finds them. */
export interface Host {
  /** The folder in which the user runs the command. */
  readonly folder: string;
  readonly env: EnvironmentVariables;
  readonly folders: UserFolders;
  readonly clock: () => Date;
  readonly locks: Locks;
  readonly crashPoint: CrashHook;
}
