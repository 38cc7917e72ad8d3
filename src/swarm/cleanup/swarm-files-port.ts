/**
 * The files that the swarms of a worktree leave behind: journals, archived states and stored requests of the
 * user. Removing these files loses no work of agents.
 */
export interface SwarmFiles {
  /** Returns the IDs of the swarms that left files in the worktree. */
  list(): Promise<string[]>;
  /** Removes the files that one swarm left; does nothing if there are none. */
  remove(swarmId: string): Promise<void>;
}

/** The user's state folder, which swarm uses for all projects of the user. */
export interface StateFolder {
  readonly folder: string;
  /** Whether the folder contains any file that swarm may remove. */
  exists(): Promise<boolean>;
  /** Whether the folder contains data of the user's private container engine. */
  hasEngine(): Promise<boolean>;
  /**
   * Removes the files that swarm created in the folder. Keeps the files with the machine's ID and the user's
   * ID.
   */
  remove(): Promise<void>;
}
