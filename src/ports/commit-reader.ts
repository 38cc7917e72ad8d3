/** A file as a commit stores it. */
export interface TrackedFile {
  readonly path: string;
  /** The ID of the blob that holds the file's content. */
  readonly id: string;
  readonly kind: "file" | "program" | "link" | "submodule";
}

/** Reads commits from git's objects, so that uncommitted changes in the working tree have no effect. */
export interface CommitReader {
  /** Returns the commit of HEAD; null before the first commit. */
  head(): Promise<string | null>;
  files(commit: string): Promise<TrackedFile[]>;
  /** Returns the contents of the blobs with these IDs, in the order of the IDs. */
  contents(ids: readonly string[]): Promise<Uint8Array[]>;
  /** Whether the repository is a shallow clone. */
  isShallow(): Promise<boolean>;
  /**
   * Writes a bundle of a commit and its whole history, with the ref `refs/heads/<branch>`. If `without` is
   * given, the bundle omits that commit and its history. Disposing the result deletes the bundle.
   */
  bundle(
    commit: string,
    branch: string,
    signal?: AbortSignal,
    without?: string,
  ): Promise<AsyncDisposable & { readonly file: string }>;
}
