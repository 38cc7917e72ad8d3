import type { SensitivePath } from "../domain/sensitive-paths.ts";

/** Commits that a worker made, as a bundle that somebody in a container wrote. */
export interface WorkToTakeIn {
  readonly bundle: AsyncIterable<Uint8Array>;
  /** What the bundle's bytes must add up to, in hexadecimal digits. */
  readonly sha256: string;
  readonly mostBytes: number;
  /** The one ref that the bundle must hold, at `tip`. */
  readonly expectedRef: string;
  /** The commit that the work began with; it is here. */
  readonly base: string;
  readonly tip: string;
  /** The ref that keeps the work here, below `refs/aimi/`. */
  readonly keep: string;
  /** Where `keep` is now as far as is known: what was taken in before. The work must go on from there. */
  readonly old: string | null;
  /** What the adapter recorded when the story began: the commit before it and the tree of its files. */
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
  | "incomplete" // objects that are neither in it nor here
  | "unrelated" // the work does not go on from its base
  | "start" // the story began with other files than those of the commit before it
  | "ref-moved"; // `keep` is at a commit that nobody told of

export type TakenIn =
  | { readonly kind: "taken"; readonly commit: string }
  /** The ref was there already. */
  | { readonly kind: "already"; readonly commit: string }
  | { readonly kind: "refused"; readonly why: Refusal; readonly reason: string }
  /** What was taken in before is no longer part of the history. */
  | { readonly kind: "rewritten" };

export interface WorkToPublish {
  readonly commit: string;
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** The commit that the work began with. */
  readonly base: string;
  /** The branch that gets the work where `branch` cannot. */
  readonly fallback: string;
  /** Told right before a branch is made or moved, so that a record of it can be written first. */
  readonly beforeMove?: (move: RefMove) => Promise<void>;
}

export interface RefMove {
  readonly ref: string;
  /** Null where it does not exist. */
  readonly old: string | null;
  readonly new: string;
}

/** Why a branch cannot have the work. */
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
      /** Where it was before; null where it did not exist. */
      readonly old: string | null;
      /** `found`: it held the work already. */
      readonly how: "created" | "moved" | "found";
      /** Why it is not the wanted branch. */
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
  /** There were too many changes to look at all of them. */
  readonly isCut: boolean;
  /** Files that are gone, the first of them by path. */
  readonly deleted: { readonly total: number; readonly paths: readonly string[] };
}

export interface WorkChanges {
  /** The newest last. */
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
  /** Lines; null for what is not text. */
  readonly files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly deleted: number | null;
  }[];
  readonly totals: { readonly files: number; readonly added: number; readonly deleted: number };
  /** There are more commits or files than are told here; the totals are of the files that could be counted. */
  readonly isCut: boolean;
}

export interface PatchToRead {
  readonly base: string;
  readonly tip: string;
  /** Told of each line; none of them is kept. */
  readonly see: (line: string) => void;
}

/**
 * The user's repository, as the place where the work of workers ends. Their working trees, index, stash, configuration and
 * other branches are never touched, and nothing that came from a container is executed. Texts are clean to be shown.
 */
export interface WorkRepository {
  /** Checks commits and keeps them at a ref; the same once more is found done. The bundle is read only if it is needed. */
  takeIn(work: WorkToTakeIn, signal?: AbortSignal): Promise<TakenIn>;
  /** Makes a branch, or moves one on; never by force. The same once more is found done. */
  publish(work: WorkToPublish, signal?: AbortSignal): Promise<Published>;
  /** Whether a commit is here. */
  has(commit: string): Promise<boolean>;
  /** Whether a commit is here to stay: some ref has it. */
  isKept(commit: string): Promise<boolean>;
  /** One commit that has all of them; the same again for the same ones. No ref keeps it. */
  mergeBases(commits: readonly string[], signal?: AbortSignal): Promise<MergedBase>;
  /** A commit that has both; the same again for the same ones. Nothing keeps it but who writes its name down. */
  merge(commits: CommitsToMerge, signal?: AbortSignal): Promise<MergedBase>;
  /** The same, with git's markers in the files in which they conflict. */
  mergeAnyway(
    commits: CommitsToMerge,
    signal?: AbortSignal,
  ): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }>;
  /** Where a ref below `refs/aimi/` is; null where it is not. */
  keptAt(ref: string): Promise<string | null>;
  /** Moves a ref below `refs/aimi/` on to a commit that has what it had; false where it is elsewhere. */
  keepAt(move: RefMove): Promise<boolean>;
  /** The files in which the two of each pair conflict. */
  conflicts(
    pairs: readonly (readonly [string, string])[],
    signal?: AbortSignal,
  ): Promise<(readonly string[])[]>;
  /** Whether one is the other or in its history. */
  isAncestor(ancestor: string, commit: string, signal?: AbortSignal): Promise<boolean>;
  /** Where a branch is, and what would keep it from being moved on. */
  branch(name: string): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }>;
  /** Changed paths that deserve a look before anybody works with them. */
  sensitivePaths(base: string, tip: string, signal?: AbortSignal): Promise<SensitiveChanges>;
  changes(base: string, tip: string, signal?: AbortSignal): Promise<WorkChanges>;
  /** What changed line by line, without lines around it; cut where it is longer than anybody could look at. */
  readPatch(patch: PatchToRead, signal?: AbortSignal): Promise<{ readonly isCut: boolean }>;
}
