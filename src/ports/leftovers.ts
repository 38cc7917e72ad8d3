/** Files that swarms of a worktree left: journals, archived states, requests. None of them holds work. */
export interface SwarmFiles {
  /** The ids of the swarms. */
  list(): Promise<string[]>;
  /** Removes a swarm's files; does nothing if there are none. */
  remove(swarmId: string): Promise<void>;
}

/** The user's own state folder, which all their projects share. */
export interface StateFolder {
  readonly folder: string;
  /** Whether it holds anything of swarm. */
  exists(): Promise<boolean>;
  /** Whether a private engine has stored data in it. */
  hasEngine(): Promise<boolean>;
  /** Removes swarm's files, by their names; the identity of this machine stays. */
  remove(): Promise<void>;
}
