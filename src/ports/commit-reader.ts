/** A file of a commit. */
export interface TrackedFile {
  readonly path: string;
  /** Git's id of its content. */
  readonly id: string;
  readonly kind: "file" | "program" | "link" | "submodule";
}

/** What is in a commit, read from git's objects and not from the working tree. */
export interface CommitReader {
  /** The commit of HEAD; null before the first one. */
  head(): Promise<string | null>;
  files(commit: string): Promise<TrackedFile[]>;
  /** The content of files by their ids, in the order asked. */
  contents(ids: readonly string[]): Promise<Uint8Array[]>;
  /** Whether the history ends before its beginning. */
  isShallow(): Promise<boolean>;
  /**
   * A bundle with the commit as `refs/heads/<branch>` and its whole history, or with what is not in another commit's; the file
   * goes with the disposal.
   */
  bundle(
    commit: string,
    branch: string,
    signal?: AbortSignal,
    without?: string,
  ): Promise<AsyncDisposable & { readonly file: string }>;
}
