// Made from schemas/summary.schema.json by scripts/generate.ts. Change the schema, not this file.

export type Count = number;
/**
 * null where the agent told none.
 */
export type UsageOrNull = null | SummaryUsage;
export type ReasonOrNull = null | SummaryReason;

/**
 * What `swarm summary --json` prints: what a swarm did, and what to do next. Texts are clean to be shown.
 */
export interface SwarmSummary {
  readonly swarmId: string;
  readonly project: string;
  readonly createdAt: string;
  readonly madeAt: string;
  /**
   * Which filter of system calls its sandboxes had, in words; null where that was not written down.
   */
  readonly systemCalls: string | null;
  /**
   * Whether a process acted on the swarm when this was made.
   */
  readonly isOwned: boolean;
  readonly totals: SummaryTotals;
  /**
   * What `swarm merge` did last; null before it did anything.
   */
  readonly merge: null | SummaryMerge;
  readonly workers: readonly WorkerSummary[];
  /**
   * Commands to type.
   */
  readonly next: readonly string[];
}
export interface SummaryTotals {
  readonly workers: WorkerCounts;
  readonly stories: StoryCounts;
  /**
   * The time that workers worked, side by side or not.
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
  readonly tokensIn: Count;
  readonly tokensOut: Count;
  readonly cacheRead: Count;
  readonly cacheWrite: Count;
  /**
   * null where nobody told it.
   */
  readonly costUsd: number | null;
}
export interface SummaryMerge {
  readonly branch: string;
  readonly tip: string;
  /**
   * What each was checked with; null where nothing was.
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
   * As people name it.
   */
  readonly worker: string;
  readonly taskFile: string;
  /**
   * null where the task file is gone or broken by now.
   */
  readonly title: string | null;
  readonly status: "pending" | "running" | "completed" | "failed" | "stopped";
  readonly reason: ReasonOrNull;
  readonly attempt: number;
  /**
   * Over all attempts; null when it never began.
   */
  readonly workMs: null | Count;
  /**
   * null when it never began.
   */
  readonly startedAt: string | null;
  /**
   * null while it has not come to its end.
   */
  readonly finishedAt: string | null;
  readonly usage: UsageOrNull;
  /**
   * What it asked for at the gateway and did not get, and what would allow it.
   */
  readonly denied: readonly string[];
  /**
   * The commit that its work began with.
   */
  readonly base: string | null;
  /**
   * Where its commits are; null where there are none.
   */
  readonly work: null | SummaryWork;
  /**
   * null where there are none, or where they could not be read.
   */
  readonly changes: null | SummaryChanges;
  readonly sensitive: SummarySensitive;
  /**
   * What checks in fresh sandboxes said; null where none were asked, or their record is gone.
   */
  readonly proof: null | SummaryProof;
  /**
   * How earlier attempts ended.
   */
  readonly earlier: readonly SummaryAttempt[];
  readonly stories: readonly StorySummary[];
  /**
   * Commands to type.
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
   * Keeps it, whatever becomes of the branch.
   */
  readonly ref: string;
  /**
   * null where it has no branch.
   */
  readonly branch: string | null;
  /**
   * The branch that the task file asks for.
   */
  readonly wanted: string;
}
export interface SummaryChanges {
  /**
   * The newest last.
   */
  readonly commits: readonly SummaryCommit[];
  readonly files: Count;
  readonly added: Count;
  readonly deleted: Count;
  /**
   * There are more than are told here.
   */
  readonly isCut: boolean;
}
export interface SummaryCommit {
  readonly id: string;
  readonly author: string;
  readonly subject: string;
}
/**
 * Changed paths that deserve a look before anybody works with them.
 */
export interface SummarySensitive {
  readonly paths: readonly SummarySensitivePath[];
  /**
   * There are more than are told here.
   */
  readonly isCut: boolean;
  readonly deleted: SummaryDeleted;
}
export interface SummarySensitivePath {
  readonly path: string;
  readonly why: string;
}
/**
 * Files that are gone: how many, and the first of them.
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
   * Tests that the work deleted or skips, in words.
   */
  readonly weakened: readonly string[];
  /**
   * Whether the work is too large for all of its tests to be looked at.
   */
  readonly isCut: boolean;
}
export interface SummaryProofCheck {
  readonly command: string;
  /**
   * Its exit code on the commit that the work began with; null where it did not end.
   */
  readonly before: number | null;
  /**
   * The same on the result.
   */
  readonly after: number | null;
  /**
   * The end of what it printed on the result, where it failed.
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
   * What was done, in its own words.
   */
  readonly output: string | null;
  readonly reason: ReasonOrNull;
  readonly commit: string | null;
  /**
   * The ref that keeps what there was when it failed.
   */
  readonly unfinished: string | null;
  readonly workMs: null | Count;
  readonly usage: UsageOrNull;
  readonly checks: readonly SummaryCheck[];
}
export interface SummaryCheck {
  readonly command: string;
  /**
   * null when it was ended by its time limit.
   */
  readonly exitCode: number | null;
  readonly durationMs: Count;
  /**
   * The end of what it wrote.
   */
  readonly output: string;
}
