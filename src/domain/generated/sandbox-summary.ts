// Made from schemas/sandbox-summary.schema.json by scripts/generate.ts. Change the schema, not this file.

export type SummaryReason = {
  readonly code: string;
  readonly message: string;
} | null;

/**
 * `.aimi/sandboxes/<id>/outputs/summary.json`: how the last task in a sandbox went.
 */
export interface SandboxSummary {
  readonly sandboxId: string;
  readonly task: string | null;
  /**
   * null where no program ended by itself.
   */
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /**
   * The beginning and the end of it; `stdout.log` has more.
   */
  readonly stdout: string;
  readonly stderr: string;
  /**
   * Below `outputs/`; the first of them.
   *
   * @maxItems 10000
   */
  readonly outputFiles: readonly string[];
  /**
   * What the spec expected and the task did not write.
   */
  readonly missingOutputs: readonly string[];
  /**
   * Links, devices and names that cannot be shown, which never leave a sandbox; the first of them.
   *
   * @maxItems 100
   */
  readonly leftOut: readonly string[];
  /**
   * What ought to have come out and did not, or not as a whole, with the reason; the first of them.
   *
   * @maxItems 100
   */
  readonly missed: readonly string[];
  readonly more: SummaryMore;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly status: "completed" | "failed" | "timeout";
  readonly reason: SummaryReason;
}
/**
 * How many there are that the lists do not have.
 */
export interface SummaryMore {
  readonly outputFiles: number;
  readonly leftOut: number;
  readonly missed: number;
}
