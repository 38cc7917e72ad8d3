import type { SensitivePath } from "../domain/sensitive-paths.ts";

/**
 * A bundle with a worker's commits, to import into the user's repository. It comes from the worker's
 * container, so it is untrusted.
 */
export interface BundleToImport {
  readonly bundle: AsyncIterable<Uint8Array>;
  /** The checksum that the bundle must have, in hexadecimal digits. */
  readonly sha256: string;
  readonly maxBytes: number;
  /** The only ref that the bundle may contain. The ref must be at `tip`. */
  readonly expectedRef: string;
  /** The commit from which the worker started. The repository has this commit. */
  readonly base: string;
  readonly tip: string;
  /** The ref below `refs/aimi/` that will keep the work in the repository. */
  readonly keepRef: string;
  /**
   * The commit to which the previous import moved `keepRef`; null if there was none. `tip` must descend from this
   * commit. Nothing is imported if `keepRef` is at another commit now.
   */
  readonly old: string | null;
  /**
   * The state that the adapter recorded at the start of the story: the commit before the story, and the tree
   * of the files.
   */
  readonly start?: StoryStart;
}

export interface StoryStart {
  readonly commit: string;
  readonly tree: string;
}

export type BundleRefusal =
  | "tip" // `tip` is not a commit ID
  | "too-large"
  | "too-deep" // folders are nested too deeply
  | "too-many" // too many changed files and folders
  | "too-long" // a path is too long
  | "checksum"
  | "header"
  | "pack" // git objects are broken or malicious
  | "incomplete" // git objects are missing from both the bundle and the repository
  | "unrelated" // `tip` does not descend from `base`
  | "start" // the story started with files that differ from those of the commit before it
  | "ref-moved"; // `keepRef` is at an unexpected commit

export type ImportResult =
  | { readonly kind: "taken"; readonly commit: string }
  /** The ref was at the commit before the import, so nothing changed. */
  | { readonly kind: "already"; readonly commit: string }
  | { readonly kind: "refused"; readonly why: BundleRefusal; readonly reason: string }
  /** The worker rewrote history: the new commits do not contain the commits that were imported before. */
  | { readonly kind: "rewritten" };

export interface WorkToPublish {
  readonly commit: string;
  /** The name of the wanted branch, without `refs/heads/`. */
  readonly branch: string;
  /** The commit from which the worker started. */
  readonly base: string;
  /** The name of the branch that gets the work if `branch` cannot. */
  readonly fallbackBranch: string;
  /** Called before git makes or moves a branch, so that the caller can record the move in case of a crash. */
  readonly beforeMove?: (move: RefMove) => Promise<void>;
}

export interface RefMove {
  readonly ref: string;
  /** The ref's commit before the move; null if the ref does not exist. */
  readonly old: string | null;
  readonly new: string;
}

/** The reason why git cannot make or fast-forward a branch to the work. */
export interface BranchObstacle {
  readonly branch: string;
  readonly why:
    | "invalid-name"
    | "in-use" // a worktree has the branch checked out, or is rebasing or bisecting it
    | "elsewhere" // the branch has commits that the work does not have
    | "name-conflict" // git cannot have both `feat` and `feat/x`
    | "alias" // the branch is a symbolic ref
    | "failed"; // git could not make or move the branch
  readonly reason: string;
}

export type PublishResult =
  | {
      readonly kind: "published";
      readonly ref: string;
      /** The branch's commit before; null if the branch did not exist. */
      readonly old: string | null;
      /**
       * `created` or `moved`: git made or fast-forwarded the branch. `found`: the branch had the work
       * already.
       */
      readonly how: "created" | "moved" | "found";
      /** The reason why the wanted branch did not get the work; null if it did. */
      readonly aside: BranchObstacle | null;
    }
  | { readonly kind: "refused"; readonly obstacles: readonly BranchObstacle[] };

export type MergeResult =
  | { readonly kind: "commit"; readonly commit: string }
  | { readonly kind: "conflict"; readonly files: readonly string[] };

export interface CommitsToMerge {
  readonly ours: string;
  readonly theirs: string;
  readonly message: string;
}

export interface SensitiveChanges {
  readonly paths: readonly SensitivePath[];
  /** Whether there were too many changes to check all of them. */
  readonly isCut: boolean;
  /** The number of deleted files, and the paths of the first ones. */
  readonly deleted: { readonly total: number; readonly paths: readonly string[] };
}

export interface WorkChanges {
  /** The commits of the work, oldest first. */
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
  /** The changed files with their numbers of added and deleted lines; null for binary files. */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly deleted: number | null;
  }[];
  readonly totals: { readonly files: number; readonly added: number; readonly deleted: number };
  /** Whether the lists omit commits or files. The totals include every file that git could count. */
  readonly isCut: boolean;
}

export interface PatchToRead {
  readonly base: string;
  readonly tip: string;
  /** Called with each line of the patch, so that the repository need not hold the patch in memory. */
  readonly onLine: (line: string) => void;
}

/**
 * The user's repository, into which swarm imports the work of workers. Swarm never touches the user's working
 * trees, index, stash, configuration or other branches, and never executes anything from a container. Texts
 * in results are safe to show.
 */
export interface WorkRepository {
  /**
   * Checks the commits in a bundle and keeps them at a ref. Idempotent: if the ref has the commits already,
   * the bundle is not read.
   */
  importBundle(work: BundleToImport, signal?: AbortSignal): Promise<ImportResult>;
  /** Makes a branch for the work, or fast-forwards an existing branch; never by force. Idempotent. */
  publish(work: WorkToPublish, signal?: AbortSignal): Promise<PublishResult>;
  /** Whether the repository has this commit. */
  hasCommit(commit: string): Promise<boolean>;
  /** Whether any ref keeps this commit, so that git's garbage collection leaves it alone. */
  isReferenced(commit: string): Promise<boolean>;
  /**
   * Merges several commits into one. Deterministic: the same commits give the same ID. No ref keeps the merge
   * commit.
   */
  mergeBases(commits: readonly string[], signal?: AbortSignal): Promise<MergeResult>;
  /**
   * Merges two commits. Deterministic: the same input gives the same ID. No ref keeps the merge commit, so
   * the caller must record it.
   */
  merge(commits: CommitsToMerge, signal?: AbortSignal): Promise<MergeResult>;
  /** Merges two commits even if they conflict. Conflicting files get git's conflict markers. */
  mergeWithConflictMarkers(
    commits: CommitsToMerge,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }>;
  /** Returns the commit of a ref below `refs/aimi/`; null if the ref does not exist. */
  commitAt(ref: string): Promise<string | null>;
  /** Fast-forwards a ref below `refs/aimi/`; returns false if the ref is not at `old`. */
  moveRef(move: RefMove): Promise<boolean>;
  /** Returns, for each pair of commits, the files in which they conflict. */
  conflicts(
    pairs: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<(readonly string[])[]>;
  /** Whether `ancestor` equals `commit` or is in its history. */
  isAncestor(ancestor: string, commit: string, signal?: AbortSignal): Promise<boolean>;
  /**
   * Returns the commit of a branch, and the reason why git cannot fast-forward the branch; null if it can.
   */
  branch(name: string): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }>;
  /** Returns changed paths that the user should review before using the work, such as git hooks. */
  sensitivePaths(base: string, tip: string, signal?: AbortSignal): Promise<SensitiveChanges>;
  changes(base: string, tip: string, signal?: AbortSignal): Promise<WorkChanges>;
  /** Reads a patch without context lines, line by line. `isCut` is true if a limit of size or time ended it. */
  readPatch(patch: PatchToRead, signal?: AbortSignal): Promise<{ readonly isCut: boolean }>;
}
