// Made from schemas/summary.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Count = number;
/**
 * The usage; null when the agent reported none.
 */
export type UsageOrNull = null | SummaryUsage;
export type ReasonOrNull = null | SummaryReason;

/**
 * The document that `swarm summary --json` prints: a swarm's work, and the next steps. Texts are safe to show on a terminal.
 */
export interface SwarmSummary {
  readonly swarmId: string;
  readonly project: string;
  readonly createdAt: string;
  readonly madeAt: string;
  /**
   * The filter of system calls in its sandboxes, as text; null when it was not recorded.
   */
  readonly systemCalls: string | null;
  /**
   * Whether a process ran the swarm at the time of the summary.
   */
  readonly isOwned: boolean;
  readonly totals: SummaryTotals;
  /**
   * The last result of `swarm merge`; null before the first one.
   */
  readonly merge: null | SummaryMerge;
  readonly workers: readonly WorkerSummary[];
  /**
   * The next commands to type.
   */
  readonly next: readonly string[];
}
export interface SummaryTotals {
  readonly workers: WorkerCounts;
  readonly stories: StoryCounts;
  /**
   * The sum of the workers' run times.
   */
  readonly workMs: number;
  readonly usage: UsageOrNull;
}
export interface WorkerCounts {
  readonly total: Count;
  readonly completed: Count;
  readonly failed: Count;
  readonly stopped: Count;
  readonly running: Count;
  readonly pending: Count;
}
export interface StoryCounts {
  readonly total: Count;
  readonly completed: Count;
  readonly failed: Count;
}
export interface SummaryUsage {
  readonly inputTokens: Count;
  readonly outputTokens: Count;
  readonly cacheReadTokens: Count;
  readonly cacheWriteTokens: Count;
  /**
   * The cost; null when neither agent nor gateway reported one.
   */
  readonly costUsd: number | null;
}
export interface SummaryMerge {
  readonly branch: string;
  readonly tip: string;
  /**
   * The command that checked each result; null without a check.
   */
  readonly command: string | null;
  readonly workers: readonly SummaryMerged[];
}
export interface SummaryMerged {
  readonly worker: string;
  readonly outcome: "merged" | "merged before" | "set aside" | "unchanged" | "not completed";
  readonly why: string;
}
export interface WorkerSummary {
  /**
   * The worker's short name.
   */
  readonly worker: string;
  readonly taskFile: string;
  /**
   * The task's title; null when the task file is now missing or invalid.
   */
  readonly title: string | null;
  readonly status: "pending" | "running" | "completed" | "failed" | "stopped";
  readonly reason: ReasonOrNull;
  readonly attempt: number;
  /**
   * The duration of all attempts; null when the worker never began.
   */
  readonly workMs: null | Count;
  /**
   * The start; null when the worker never began.
   */
  readonly startedAt: string | null;
  /**
   * The end; null while the worker has not ended.
   */
  readonly finishedAt: string | null;
  readonly usage: UsageOrNull;
  /**
   * The requests that the gateway denied, and the flags that would allow them.
   */
  readonly denied: readonly string[];
  /**
   * The commit from which its work started.
   */
  readonly base: string | null;
  /**
   * The location of its commits; null without any.
   */
  readonly work: null | SummaryWork;
  /**
   * The changes; null when there are none, or they could not be read.
   */
  readonly changes: null | SummaryChanges;
  readonly sensitive: SummarySensitive;
  /**
   * The result of checks in fresh sandboxes; null when none were requested, or their record is missing.
   */
  readonly proof: null | SummaryProof;
  /**
   * The ends of earlier attempts.
   */
  readonly earlier: readonly SummaryAttempt[];
  readonly stories: readonly StorySummary[];
  /**
   * The next commands to type.
   */
  readonly next: readonly string[];
}
export interface SummaryReason {
  readonly code: string;
  readonly message: string;
}
export interface SummaryWork {
  readonly commit: string;
  /**
   * The ref that keeps the commit, even if the branch is deleted.
   */
  readonly ref: string;
  /**
   * The published branch; null without one.
   */
  readonly branch: string | null;
  /**
   * The branch that the task file asks for.
   */
  readonly wanted: string;
}
export interface SummaryChanges {
  /**
   * The commits, newest last.
   */
  readonly commits: readonly SummaryCommit[];
  readonly files: Count;
  readonly added: Count;
  readonly deleted: Count;
  /**
   * Whether the list is incomplete.
   */
  readonly isCut: boolean;
}
export interface SummaryCommit {
  readonly id: string;
  readonly author: string;
  readonly subject: string;
}
/**
 * Changed paths that the user should review before working with them.
 */
export interface SummarySensitive {
  readonly paths: readonly SummarySensitivePath[];
  /**
   * Whether the list is incomplete.
   */
  readonly isCut: boolean;
  readonly deleted: SummaryDeleted;
}
export interface SummarySensitivePath {
  readonly path: string;
  readonly why: string;
}
/**
 * Deleted files: their number, and the first of them.
 */
export interface SummaryDeleted {
  readonly total: number;
  readonly paths: readonly string[];
}
export interface SummaryProof {
  readonly verdict: "proved" | "not-worse" | "broken" | "not-checked";
  readonly why: string | null;
  readonly checks: readonly SummaryProofCheck[];
  /**
   * Tests that the work deletes or skips, as text.
   */
  readonly weakened: readonly string[];
  /**
   * Whether the work is too large to examine all of its tests.
   */
  readonly isCut: boolean;
}
export interface SummaryProofCheck {
  readonly command: string;
  /**
   * Its exit code on the commit from which the work started; null when it did not end.
   */
  readonly before: number | null;
  /**
   * The same on the result.
   */
  readonly after: number | null;
  /**
   * The end of its output on the result, if it failed there.
   */
  readonly output: string;
}
export interface SummaryAttempt {
  readonly attempt: number;
  readonly code: string;
  readonly message: string;
}
export interface StorySummary {
  readonly id: string;
  readonly title: string | null;
  readonly status: "pending" | "in_progress" | "completed" | "failed" | "skipped";
  readonly attempt: number;
  /**
   * The agent's own description of its work.
   */
  readonly output: string | null;
  readonly reason: ReasonOrNull;
  readonly commit: string | null;
  /**
   * The ref that keeps the unfinished work of a failed story.
   */
  readonly unfinished: string | null;
  readonly workMs: null | Count;
  readonly usage: UsageOrNull;
  readonly checks: readonly SummaryCheck[];
}
export interface SummaryCheck {
  readonly command: string;
  /**
   * The exit code; null when the time limit ended it.
   */
  readonly exitCode: number | null;
  readonly durationMs: Count;
  /**
   * The end of its output.
   */
  readonly output: string;
}
