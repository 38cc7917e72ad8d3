// Made from schemas/sandbox-summary.schema.json by scripts/generate.ts. Change the schema, not this file.

export type SummaryReason = {
  readonly code: string;
  readonly message: string;
} | null;

/**
 * `.aimi/sandboxes/<id>/outputs/summary.json`: the outcome of the last task in a sandbox.
 */
export interface SandboxSummary {
  readonly sandboxId: string;
  readonly task: string | null;
  /**
   * The exit code; null when the program did not end by itself.
   */
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /**
   * The beginning and the end of the output; `stdout.log` has more.
   */
  readonly stdout: string;
  readonly stderr: string;
  /**
   * The paths below `outputs/`; the first of them.
   *
   * @maxItems 10000
   */
  readonly outputFiles: readonly string[];
  /**
   * Outputs that the spec expects and the task did not write.
   */
  readonly missingOutputs: readonly string[];
  /**
   * Links, devices and names that cannot be shown, which never leave a sandbox; the first of them.
   *
   * @maxItems 100
   */
  readonly leftOut: readonly string[];
  /**
   * Outputs that could not be copied, or not completely, with the reason; the first of them.
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
 * The numbers of entries that the lists omit.
 */
export interface SummaryMore {
  readonly outputFiles: number;
  readonly leftOut: number;
  readonly missed: number;
}
