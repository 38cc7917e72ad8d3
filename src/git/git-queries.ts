/** Git queries about a worktree. */
export interface GitQueries {
  version(): Promise<string | null>;
  /** Returns the ID of the HEAD commit; null if the repository has no commit yet. */
  head(): Promise<string | null>;
  /**
   * Returns the name and the email address that git would record as the author of a new commit in this
   * worktree.
   */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /**
   * Returns the number of tracked and untracked files that differ from HEAD. Does not count task files,
   * settings and swarm's own files.
   */
  changedFiles(): Promise<number>;
}
