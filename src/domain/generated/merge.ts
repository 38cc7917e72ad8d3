// Made from schemas/merge.schema.json by scripts/generate.ts. Change the schema, not this file.

export type MergeOutcome = "merged" | "merged before" | "set aside" | "unchanged" | "not completed";

/**
 * What `swarm merge --json` prints: which results were brought together, and which wait for a person.
 */
export interface MergeReport {
  readonly swarmId: string;
  /**
   * The branch that the results are brought to.
   */
  readonly branch: string;
  /**
   * Whether that branch is there.
   */
  readonly exists: boolean;
  /**
   * The commit that they are merged upon.
   */
  readonly begin: string;
  /**
   * The commit that has all that was merged.
   */
  readonly tip: string;
  /**
   * Whether the branch was made or moved by this merge.
   */
  readonly moved: boolean;
  readonly check: MergeCheck;
  /**
   * In the order in which they were merged or set aside; then those that are no candidates.
   */
  readonly workers: readonly MergedWorker[];
  /**
   * Which two results conflict with each other, whatever else is merged.
   */
  readonly forecast: readonly ForecastConflict[];
}
export interface MergeCheck {
  /**
   * null where nothing is checked.
   */
  readonly command: string | null;
  /**
   * How it ends on the commit that the results are merged upon; null where that was not asked.
   */
  readonly before: null | RanCheck;
}
export interface RanCheck {
  /**
   * null where it was ended after its limit.
   */
  readonly exitCode: number | null;
  /**
   * The end of what it printed.
   */
  readonly output: string;
  readonly durationMs: number;
}
export interface MergedWorker {
  readonly worker: string;
  readonly outcome: MergeOutcome;
  /**
   * Its result.
   */
  readonly commit: string | null;
  /**
   * The commit of its merge.
   */
  readonly mergedAs: string | null;
  readonly reason: null | MergeReason;
  /**
   * Where the conflict is.
   */
  readonly files: readonly string[];
  /**
   * The workers whose results it conflicts with, breaks the check with, or is built on.
   */
  readonly with: readonly string[];
  /**
   * How the check ended with it; null where none ran.
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
