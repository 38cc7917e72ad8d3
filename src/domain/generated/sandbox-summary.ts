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
   * Below `outputs/`.
   */
  readonly outputFiles: readonly string[];
  /**
   * What the spec expected and the task did not write.
   */
  readonly missingOutputs: readonly string[];
  /**
   * Links and devices, which do not leave a sandbox.
   */
  readonly leftOut: readonly string[];
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly status: "completed" | "failed" | "timeout";
  readonly reason: SummaryReason;
}
