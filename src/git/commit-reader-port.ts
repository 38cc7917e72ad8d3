/** A file in a commit. */
export interface TrackedFile {
  readonly path: string;
  /** The ID of the blob that holds the file's content. */
  readonly id: string;
  readonly kind: "file" | "program" | "link" | "submodule";
}

/** Reads commits from git's objects, not from the working tree, so uncommitted changes have no effect. */
export interface CommitReader {
  /** Returns the ID of the HEAD commit; null if the repository has no commit yet. */
  head(): Promise<string | null>;
  files(commit: string): Promise<TrackedFile[]>;
  /** Returns the contents of the blobs with these IDs, in the order of the IDs. */
  contents(ids: readonly string[]): Promise<Uint8Array[]>;
  /** Whether the repository is a shallow clone. */
  isShallow(): Promise<boolean>;
  /**
   * Writes a git bundle of a commit and its history, with the ref `refs/heads/<branch>`. If `without` is
   * given, the bundle leaves out the commit `without` and its history. Disposing the result deletes the
   * bundle file.
   */
  bundle(
    commit: string,
    branch: string,
    signal?: AbortSignal,
    without?: string,
  ): Promise<AsyncDisposable & { readonly file: string }>;
}
