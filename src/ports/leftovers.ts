/** What swarms of a worktree left in files: journals, archived states, requests. Work is not among it. */
export interface SwarmFiles {
  /** The ids of the swarms. */
  list(): Promise<string[]>;
  /** What is gone already is fine. */
  remove(swarmId: string): Promise<void>;
}

/** The user's own state folder, which all their projects share. */
export interface StateFolder {
  readonly folder: string;
  /** Whether anything of ours is in it. */
  exists(): Promise<boolean>;
  /** Whether a private engine ever kept its data there. */
  hasEngine(): Promise<boolean>;
  /** Takes away what is ours, by its names; what tells this machine from others stays. */
  remove(): Promise<void>;
}
