// Made from schemas/work-diff.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What `swarm diff WORKER --json` prints.
 */
export interface WorkDiff {
  readonly worker: string;
  /**
   * The commit that its work began with.
   */
  readonly base: string | null;
  /**
   * What was brought into this repository last; null when nothing was.
   */
  readonly commit: string | null;
  /**
   * What keeps it here.
   */
  readonly ref: string | null;
  /**
   * null when nothing was brought in.
   */
  readonly changes: null | DiffChanges;
  readonly sensitive: DiffSensitive;
}
export interface DiffChanges {
  /**
   * The newest last.
   */
  readonly commits: readonly DiffCommit[];
  readonly files: readonly DiffFile[];
  readonly totals: DiffTotals;
  /**
   * There is more than is told here; the totals are of the files that could be counted.
   */
  readonly isCut: boolean;
}
export interface DiffCommit {
  readonly id: string;
  readonly author: string;
  readonly subject: string;
}
export interface DiffFile {
  readonly path: string;
  /**
   * Lines; null for what is not text.
   */
  readonly added: number | null;
  readonly deleted: number | null;
}
export interface DiffTotals {
  readonly files: number;
  readonly added: number;
  readonly deleted: number;
}
/**
 * Changed paths that deserve a look before anybody works with them.
 */
export interface DiffSensitive {
  readonly paths: readonly DiffSensitivePath[];
  readonly isCut: boolean;
  readonly deleted: DiffDeleted;
}
export interface DiffSensitivePath {
  readonly path: string;
  readonly why: string;
}
/**
 * Files that are gone: how many, and the first of them.
 */
export interface DiffDeleted {
  readonly total: number;
  readonly paths: readonly string[];
}
