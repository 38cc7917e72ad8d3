// Made from schemas/work-diff.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The document that `swarm diff WORKER --json` prints.
 */
export interface WorkDiff {
  readonly worker: string;
  /**
   * The commit from which its work started.
   */
  readonly base: string | null;
  /**
   * The commit last imported into this repository; null without one.
   */
  readonly commit: string | null;
  /**
   * The ref that keeps it in this repository.
   */
  readonly ref: string | null;
  /**
   * The changes; null when nothing was imported.
   */
  readonly changes: null | DiffChanges;
  readonly sensitive: DiffSensitive;
}
export interface DiffChanges {
  /**
   * The commits, newest last.
   */
  readonly commits: readonly DiffCommit[];
  readonly files: readonly DiffFile[];
  readonly totals: DiffTotals;
  /**
   * Whether the lists are incomplete; the totals then cover the files that could be counted.
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
   * The number of lines; null for a file that is not text.
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
 * Changed paths that the user should review before working with them.
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
 * Deleted files: their number, and the first of them.
 */
export interface DiffDeleted {
  readonly total: number;
  readonly paths: readonly string[];
}
