/**
 * The files that a worktree's swarms leave behind: journals, archived states and requests. Removing these
 * files loses no work of agents.
 */
export interface SwarmFiles {
  /** Returns the IDs of the swarms that left files. */
  list(): Promise<string[]>;
  /** Removes the files of one swarm; does nothing if there are none. */
  remove(swarmId: string): Promise<void>;
}

/** The user's state folder, which all the user's projects share. */
export interface StateFolder {
  readonly folder: string;
  /** Whether the folder holds any file of swarm. */
  exists(): Promise<boolean>;
  /** Whether the private engine has stored data in the folder. */
  hasEngine(): Promise<boolean>;
  /**
   * Removes the files that swarm created in the folder, except the files with the IDs of the machine and the
   * user.
   */
  remove(): Promise<void>;
}
