/** A file of a commit. */
export interface TrackedFile {
  readonly path: string;
  /** The blob id of its content. */
  readonly id: string;
  readonly kind: "file" | "program" | "link" | "submodule";
}

/** Reads commits from git's objects, not from the working tree. */
export interface CommitReader {
  /** The commit of HEAD; null before the first one. */
  head(): Promise<string | null>;
  files(commit: string): Promise<TrackedFile[]>;
  /** The content of files by their ids, in the order asked. */
  contents(ids: readonly string[]): Promise<Uint8Array[]>;
  /** Whether the repository is a shallow clone. */
  isShallow(): Promise<boolean>;
  /**
   * A bundle with the commit as `refs/heads/<branch>` and its whole history, or without the history of the commit `without`.
   * Disposing deletes the file.
   */
  bundle(
    commit: string,
    branch: string,
    signal?: AbortSignal,
    without?: string,
  ): Promise<AsyncDisposable & { readonly file: string }>;
}
