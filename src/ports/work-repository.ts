import type { SensitivePath } from "../domain/sensitive-paths.ts";

/** Commits of a worker, as a bundle from its container, which is untrusted. */
export interface BundleToImport {
  readonly bundle: AsyncIterable<Uint8Array>;
  /** The expected checksum of the bundle, in hexadecimal digits. */
  readonly sha256: string;
  readonly maxBytes: number;
  /** The one ref that the bundle must hold, at `tip`. */
  readonly expectedRef: string;
  /** The commit from which the work started; it is in the repository. */
  readonly base: string;
  readonly tip: string;
  /** The ref that keeps the work in the repository, below `refs/aimi/`. */
  readonly keepRef: string;
  /** The expected commit of `keepRef`, imported before; null for none. The work must descend from it. */
  readonly old: string | null;
  /** The adapter's record of the story's start: the commit before it and the tree of its files. */
  readonly start?: StoryStart;
}

export interface StoryStart {
  readonly commit: string;
  readonly tree: string;
}

export type Refusal =
  | "tip" // not the name of a commit
  | "too-large"
  | "too-deep" // folders in one another
  | "too-many" // changed files and folders
  | "too-long" // paths
  | "checksum"
  | "header"
  | "pack" // broken or hostile objects
  | "incomplete" // objects that are neither in the bundle nor in the repository
  | "unrelated" // the work does not descend from its base
  | "start" // the story started with files that differ from those of the commit before it
  | "ref-moved"; // `keepRef` is at an unexpected commit

export type ImportResult =
  | { readonly kind: "taken"; readonly commit: string }
  /** The ref was at the commit already. */
  | { readonly kind: "already"; readonly commit: string }
  | { readonly kind: "refused"; readonly why: Refusal; readonly reason: string }
  /** The history no longer contains the commits that were imported before. */
  | { readonly kind: "rewritten" };

export interface WorkToPublish {
  readonly commit: string;
  /** The branch's name, without `refs/heads/`. */
  readonly branch: string;
  /** The commit from which the work started. */
  readonly base: string;
  /** The branch that gets the work if `branch` cannot. */
  readonly fallback: string;
  /** Called right before git makes or moves a branch, so that the caller can record the move first. */
  readonly beforeMove?: (move: RefMove) => Promise<void>;
}

export interface RefMove {
  readonly ref: string;
  /** The ref's commit before; null if the ref does not exist. */
  readonly old: string | null;
  readonly new: string;
}

/** The reason why a branch cannot get the work. */
export interface BranchObstacle {
  readonly branch: string;
  readonly why:
    | "invalid-name"
    | "in-use" // checked out, or being rebased or bisected
    | "elsewhere" // at commits that the work does not have
    | "name-conflict" // `feat` and `feat/x`
    | "alias" // a symbolic ref
    | "failed"; // git could not move it
  readonly reason: string;
}

export type Published =
  | {
      readonly kind: "published";
      readonly ref: string;
      /** The branch's commit before; null if it did not exist. */
      readonly old: string | null;
      /** `found`: the branch held the work already. */
      readonly how: "created" | "moved" | "found";
      /** Why the wanted branch did not get the work; null if it did. */
      readonly aside: BranchObstacle | null;
    }
  | { readonly kind: "refused"; readonly obstacles: readonly BranchObstacle[] };

export type MergedBase =
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
  /** Deleted files: their number, and the first paths. */
  readonly deleted: { readonly total: number; readonly paths: readonly string[] };
}

export interface WorkChanges {
  /** Commits, the newest last. */
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
  /** Changed files with their numbers of lines; null for files that are not text. */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly deleted: number | null;
  }[];
  readonly totals: { readonly files: number; readonly added: number; readonly deleted: number };
  /** Whether there are more commits or files than these; the totals cover the files that could be counted. */
  readonly isCut: boolean;
}

export interface PatchToRead {
  readonly base: string;
  readonly tip: string;
  /** Called with each line; the repository keeps none of them. */
  readonly see: (line: string) => void;
}

/**
 * The user's repository, into which swarm imports the work of workers. It never touches the user's working trees, index,
 * stash, configuration and other branches, and never executes anything from a container. Texts are safe to show.
 */
export interface WorkRepository {
  /** Checks commits and keeps them at a ref. Idempotent; it reads the bundle only if it needs to. */
  importBundle(work: BundleToImport, signal?: AbortSignal): Promise<ImportResult>;
  /** Makes a branch, or fast-forwards one; never by force. Idempotent. */
  publish(work: WorkToPublish, signal?: AbortSignal): Promise<Published>;
  /** Whether the repository has a commit. */
  has(commit: string): Promise<boolean>;
  /** Whether some ref keeps a commit. */
  isReferenced(commit: string): Promise<boolean>;
  /** Merges commits into one, deterministically: the same commits give the same id. No ref keeps the merge. */
  mergeBases(commits: readonly string[], signal?: AbortSignal): Promise<MergedBase>;
  /** Merges two commits, deterministically. No ref keeps the merge, so the caller must record it. */
  merge(commits: CommitsToMerge, signal?: AbortSignal): Promise<MergedBase>;
  /** Merges two commits, with git's conflict markers in the files in which they conflict. */
  mergeAnyway(
    commits: CommitsToMerge,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }>;
  /** The commit of a ref below `refs/aimi/`; null if it does not exist. */
  commitAt(ref: string): Promise<string | null>;
  /** Fast-forwards a ref below `refs/aimi/`; false if the ref is not at `old`. */
  moveRef(move: RefMove): Promise<boolean>;
  /** The files in which the commits of each pair conflict. */
  conflicts(
    pairs: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<(readonly string[])[]>;
  /** Whether `ancestor` is `commit` or in its history. */
  isAncestor(ancestor: string, commit: string, signal?: AbortSignal): Promise<boolean>;
  /** The commit of a branch, and the obstacle to a fast-forward. */
  branch(name: string): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }>;
  /** Changed paths that the user should review before working with them. */
  sensitivePaths(base: string, tip: string, signal?: AbortSignal): Promise<SensitiveChanges>;
  changes(base: string, tip: string, signal?: AbortSignal): Promise<WorkChanges>;
  /** Reads the patch line by line, without context lines; cut at a limit. */
  readPatch(patch: PatchToRead, signal?: AbortSignal): Promise<{ readonly isCut: boolean }>;
}
