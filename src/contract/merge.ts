// Made from schemas/merge.schema.json by scripts/generate.ts. Change the schema, not this file.

export type MergeOutcome = "merged" | "merged before" | "set aside" | "unchanged" | "not completed";

/**
 * The document that `swarm merge --json` prints: the merged results, and those left to the user.
 */
export interface MergeReport {
  readonly swarmId: string;
  /**
   * The target branch.
   */
  readonly branch: string;
  /**
   * Whether that branch exists.
   */
  readonly exists: boolean;
  /**
   * The commit onto which the results are merged.
   */
  readonly begin: string;
  /**
   * The commit with all merged results.
   */
  readonly tip: string;
  /**
   * Whether this merge created or moved the branch.
   */
  readonly moved: boolean;
  readonly check: MergeCheck;
  /**
   * The workers in the order in which they were merged or set aside; then those that are no candidates.
   */
  readonly workers: readonly MergedWorker[];
  /**
   * The pairs of results that conflict with each other, whatever else is merged.
   */
  readonly forecast: readonly ForecastConflict[];
}
export interface MergeCheck {
  /**
   * The command of the check; null without one.
   */
  readonly command: string | null;
  /**
   * The check's result on the commit onto which the results are merged; null when it was not run there.
   */
  readonly before: null | RanCheck;
}
export interface RanCheck {
  /**
   * The exit code; null when the time limit ended it.
   */
  readonly exitCode: number | null;
  /**
   * The end of its output.
   */
  readonly output: string;
  readonly durationMs: number;
}
export interface MergedWorker {
  readonly worker: string;
  readonly outcome: MergeOutcome;
  /**
   * The commit of its result.
   */
  readonly commit: string | null;
  /**
   * The commit of its merge.
   */
  readonly mergedAs: string | null;
  readonly reason: null | MergeReason;
  /**
   * The files in conflict.
   */
  readonly files: readonly string[];
  /**
   * The workers with whose results it conflicts or fails the check, or on whose results it is built.
   */
  readonly with: readonly string[];
  /**
   * The result of the check with it; null when none ran.
   */
  readonly check: null | RanCheck;
}
export interface MergeReason {
  code:
    | "MERGE_CONFLICT"
    | "CHECK_FAILED"
    | "CHECK_FAILED_TOGETHER"
    | "BUILDS_ON_SET_ASIDE"
    | "TESTS_WEAKENED"
    | "NOT_COMPLETED";
  readonly message: string;
}
export interface ForecastConflict {
  readonly one: string;
  readonly other: string;
  readonly files: readonly string[];
}
