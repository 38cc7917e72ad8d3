import type { SensitivePath } from "./rules/paths-to-review.ts";

/**
 * A git bundle with a worker's commits, to import into the user's repository. The bundle is untrusted,
 * because it comes from the worker's container.
 */
export interface BundleToImport {
  readonly bundle: AsyncIterable<Uint8Array>;
  /** The SHA-256 checksum that the bundle must have, in hexadecimal digits. */
  readonly sha256: string;
  readonly maxBytes: number;
  /** The only ref that the bundle may contain. The ref must point at `tip`. */
  readonly expectedRef: string;
  /** The commit from which the worker started. The user's repository contains this commit. */
  readonly base: string;
  readonly tip: string;
  /** The ref below `refs/aimi/` that the import moves to `tip`, so that git keeps the imported commits. */
  readonly keepRef: string;
  /**
   * The commit at which `keepRef` points since the previous import; null before the first import. `tip` must
   * descend from this commit.
   */
  readonly old: string | null;
  /** The commit and the git tree that the adapter recorded when the worker started the story. */
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
  /** `keepRef` already pointed at `tip`, so the import changed nothing. */
  | { readonly kind: "already"; readonly commit: string }
  | { readonly kind: "refused"; readonly why: BundleRefusal; readonly reason: string }
  /** The worker rewrote its git history: `tip` does not descend from the previously imported commit. */
  | { readonly kind: "rewritten" };

export interface WorkToPublish {
  readonly commit: string;
  /** The name of the branch to create or fast-forward, without `refs/heads/`. */
  readonly branch: string;
  /** The commit from which the worker started. */
  readonly base: string;
  /** The branch to use instead if git cannot create or fast-forward `branch`. */
  readonly fallbackBranch: string;
  /**
   * Called before git creates or moves a branch. The caller can record the planned move, and so detect after
   * a crash whether git has made the move.
   */
  readonly beforeMove?: (move: RefMove) => Promise<void>;
}

export interface RefMove {
  readonly ref: string;
  /** The commit at which the ref points before the move; null if the move creates the ref. */
  readonly old: string | null;
  readonly new: string;
}

/** The reason why swarm cannot publish the work to a branch, by creating or fast-forwarding it. */
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
      /**
       * The commit at which the branch pointed before swarm published the work; null if the branch did not
       * exist.
       */
      readonly old: string | null;
      /**
       * - `created`: git created the branch
       * - `moved`: git fast-forwarded the branch
       * - `found`: the branch already contained the work
       */
      readonly how: "created" | "moved" | "found";
      /**
       * The reason why the work is on `fallbackBranch` instead of `branch`; null if the work is on `branch`.
       */
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
  /** Whether swarm did not check some changed files, because there were too many. */
  readonly isCut: boolean;
  /** The number of files that the work deleted, and the paths of the first ones. */
  readonly deleted: { readonly total: number; readonly paths: readonly string[] };
}

export interface WorkChanges {
  /** The commits from `base` to `tip`, oldest first. */
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
  /**
   * The changed files, with their numbers of added and deleted lines. Both numbers are null for a binary
   * file.
   */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly deleted: number | null;
  }[];
  readonly totals: { readonly files: number; readonly added: number; readonly deleted: number };
  /**
   * Whether the list `commits` or `files` is truncated. `totals` still counts every changed file whose lines
   * git could count.
   */
  readonly isCut: boolean;
}

export interface PatchToRead {
  readonly base: string;
  readonly tip: string;
  /** Called with each line of the patch, so that memory never holds the whole patch. */
  readonly onLine: (line: string) => void;
}

/**
 * The user's git repository, into which swarm imports the commits of workers. Swarm never changes the user's
 * working trees, index, stash, configuration or other branches, and never executes files from a container.
 * All strings in results are safe to print on a terminal.
 */
export interface WorkRepository {
  /**
   * Checks the commits in a bundle, imports the commits, and moves `keepRef` to `tip`. Idempotent: does
   * nothing if `keepRef` already points at `tip`.
   */
  importBundle(work: BundleToImport, signal?: AbortSignal): Promise<ImportResult>;
  /**
   * Publishes the work on a branch: creates the branch, or fast-forwards it. Never force-updates a branch.
   * Idempotent.
   */
  publish(work: WorkToPublish, signal?: AbortSignal): Promise<PublishResult>;
  /** Whether the repository contains this commit. */
  hasCommit(commit: string): Promise<boolean>;
  /**
   * Whether this commit is reachable from any ref, so that git's garbage collection does not remove the
   * commit.
   */
  isReferenced(commit: string): Promise<boolean>;
  /**
   * Merges the given commits into one commit. The same input always gives the same commit ID. No ref points
   * at the merge commit.
   */
  mergeBases(commits: readonly string[], signal?: AbortSignal): Promise<MergeResult>;
  /**
   * Merges two commits. The same input always gives the same commit ID. The caller must record this ID,
   * because no ref points at the merge commit.
   */
  merge(commits: CommitsToMerge, signal?: AbortSignal): Promise<MergeResult>;
  /**
   * Merges two commits even if they conflict. The merge commit contains git's conflict markers in the
   * conflicting files.
   */
  mergeWithConflictMarkers(
    commits: CommitsToMerge,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }>;
  /** Returns the commit at which a ref below `refs/aimi/` points; null if the ref does not exist. */
  commitAt(ref: string): Promise<string | null>;
  /**
   * Moves a ref below `refs/aimi/` from the commit `old` to the commit `new`, which need not be a
   * fast-forward. Returns false if git did not move the ref, for example because the ref does not point at
   * `old`.
   */
  moveRef(move: RefMove): Promise<boolean>;
  /** Returns the conflicting files of each pair of commits. */
  conflicts(
    pairs: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<(readonly string[])[]>;
  /** Whether `ancestor` is `commit` itself or one of its ancestors. */
  isAncestor(ancestor: string, commit: string, signal?: AbortSignal): Promise<boolean>;
  /**
   * Returns the commit at which a branch points, or null if the branch does not exist. `obstacle` is the
   * reason why git cannot fast-forward the branch, or null if git can.
   */
  branch(name: string): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }>;
  /**
   * Returns the paths of changes between `base` and `tip` that the user should review before using the work,
   * such as git hooks.
   */
  sensitivePaths(base: string, tip: string, signal?: AbortSignal): Promise<SensitiveChanges>;
  changes(base: string, tip: string, signal?: AbortSignal): Promise<WorkChanges>;
  /**
   * Reads the patch from `base` to `tip`, without context lines. `isCut` is true if the patch is incomplete,
   * because it was too large or took too long.
   */
  readPatch(patch: PatchToRead, signal?: AbortSignal): Promise<{ readonly isCut: boolean }>;
}
