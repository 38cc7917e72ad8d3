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
  /** The ref below `refs/aimi/` that points at `tip` after the import. */
  readonly keepRef: string;
  /**
   * The commit of `keepRef` after the previous import; null before the first import. `tip` must descend from
   * this commit.
   */
  readonly old: string | null;
  /** The commit and the tree of files that the adapter recorded when the story started. */
  readonly start?: StoryStartCommit;
}

export interface StoryStartCommit {
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
  /** `keepRef` pointed at the commit already, so the import changed nothing. */
  | { readonly kind: "already"; readonly commit: string }
  | { readonly kind: "refused"; readonly why: BundleRefusal; readonly reason: string }
  /** The worker rewrote its history: `tip` does not contain the commits of an earlier import. */
  | { readonly kind: "rewritten" };

export interface WorkToPublish {
  readonly commit: string;
  /** The name of the wanted branch, without `refs/heads/`. */
  readonly branch: string;
  /** The commit from which the worker started. */
  readonly base: string;
  /** The branch that gets the work if git cannot create or fast-forward `branch`. */
  readonly fallbackBranch: string;
  /**
   * Called before git creates or moves a branch. The caller can record the move, to detect it after a crash.
   */
  readonly beforeMove?: (move: RefMove) => Promise<void>;
}

export interface RefMove {
  readonly ref: string;
  /** The ref's commit before the move; null if the move creates the ref. */
  readonly old: string | null;
  readonly new: string;
}

/** Why git cannot create a branch for the work, or cannot fast-forward an existing branch to the work. */
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
      /** The branch's commit before it was published; null if the branch did not exist. */
      readonly old: string | null;
      /**
       * - `created`: git created the branch
       * - `moved`: git fast-forwarded the branch
       * - `found`: the branch already contained the work
       */
      readonly how: "created" | "moved" | "found";
      /** Why the work is on `fallbackBranch` instead of `branch`; null if the work is on `branch`. */
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
  /** Whether some changes are unchecked, because there were too many. */
  readonly isCut: boolean;
  /** The number of deleted files, and the paths of the first ones. */
  readonly deleted: { readonly total: number; readonly paths: readonly string[] };
}

export interface WorkChanges {
  /** The commits of the work, oldest first. */
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
  /**
   * The changed files, each with its numbers of added and deleted lines. These numbers are null for a binary
   * file.
   */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly deleted: number | null;
  }[];
  readonly totals: { readonly files: number; readonly added: number; readonly deleted: number };
  /**
   * Whether `commits` or `files` is incomplete. `totals` still includes every file whose lines git could
   * count.
   */
  readonly isCut: boolean;
}

export interface PatchToRead {
  readonly base: string;
  readonly tip: string;
  /** Called with each line of the patch, so that no large patch is held in memory. */
  readonly onLine: (line: string) => void;
}

/**
 * The user's repository, into which swarm imports the commits of workers. Swarm never touches the user's
 * working trees, index, stash, configuration or other branches, and never executes anything from a container.
 * Strings in results are safe to print on a terminal.
 */
export interface WorkRepository {
  /**
   * Checks the commits in a bundle, imports them and moves `keepRef` to `tip`. Idempotent: if `keepRef`
   * already points at `tip`, the bundle is not read.
   */
  importBundle(work: BundleToImport, signal?: AbortSignal): Promise<ImportResult>;
  /**
   * Creates a branch for the work, or fast-forwards an existing branch. Never forces an update. Idempotent.
   */
  publish(work: WorkToPublish, signal?: AbortSignal): Promise<PublishResult>;
  /** Whether the repository has this commit. */
  hasCommit(commit: string): Promise<boolean>;
  /** Whether any ref keeps this commit, so that git's garbage collection leaves it alone. */
  isReferenced(commit: string): Promise<boolean>;
  /**
   * Merges several commits into one. The same commits always give the same commit ID. No ref keeps the merge
   * commit.
   */
  mergeBases(commits: readonly string[], signal?: AbortSignal): Promise<MergeResult>;
  /**
   * Merges two commits. The same input always gives the same commit ID. The caller must record this ID,
   * because no ref keeps the merge commit.
   */
  merge(commits: CommitsToMerge, signal?: AbortSignal): Promise<MergeResult>;
  /** Merges two commits even if they conflict. Conflicting files get git's conflict markers. */
  mergeWithConflictMarkers(
    commits: CommitsToMerge,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }>;
  /** Returns the commit of a ref below `refs/aimi/`; null if the ref does not exist. */
  commitAt(ref: string): Promise<string | null>;
  /**
   * Moves a ref below `refs/aimi/` from `old` to `new`, even if that is no fast-forward. Returns false if git
   * did not move the ref, for example because the ref is not at `old`.
   */
  moveRef(move: RefMove): Promise<boolean>;
  /** Returns, for each pair of commits, the files in which they conflict. */
  conflicts(
    pairs: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<(readonly string[])[]>;
  /** Whether `ancestor` equals `commit` or is in its history. */
  isAncestor(ancestor: string, commit: string, signal?: AbortSignal): Promise<boolean>;
  /**
   * Returns a branch's commit; null if the branch does not exist. `obstacle` says why git cannot fast-forward
   * the branch; null if git can.
   */
  branch(name: string): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }>;
  /** Returns changed paths that the user should review before using the work, such as git hooks. */
  sensitivePaths(base: string, tip: string, signal?: AbortSignal): Promise<SensitiveChanges>;
  changes(base: string, tip: string, signal?: AbortSignal): Promise<WorkChanges>;
  /**
   * Reads the patch from `base` to `tip`, without context lines. `isCut` is true if a limit of size or time
   * ended the reading early.
   */
  readPatch(patch: PatchToRead, signal?: AbortSignal): Promise<{ readonly isCut: boolean }>;
}
