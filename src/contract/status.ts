// Made from schemas/status.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The document that `swarm status --json` prints, and a line of `swarm status -w --json`.
 */
export interface SwarmStatusDocument {
  /**
   * The state, as `swarm-state.schema.json` describes it; null without a swarm.
   */
  readonly swarm: {} | null;
  /**
   * Whether the records were compared with the engine; false when the engine did not answer.
   */
  readonly reconciled: boolean;
  readonly corrections: readonly CorrectionDocument[];
  /**
   * The names of containers of this worktree without a record.
   */
  readonly orphans: readonly string[];
  /**
   * The process that runs the swarm; null when there is none.
   */
  readonly owner: null | OwnerDocument;
}
export interface CorrectionDocument {
  /**
   * The record's `containerName`.
   */
  readonly container: string;
  readonly from: CorrectedFrom;
  readonly action: CorrectionActionDocument;
  /**
   * Whether the record was corrected.
   */
  readonly applied: boolean;
}
/**
 * The facts of the record on which the decision is based.
 */
export interface CorrectedFrom {
  readonly status: "pending" | "running" | "completed" | "failed" | "stopped";
  readonly containerId: string | null;
  readonly attempt: number;
}
export interface CorrectionActionDocument {
  readonly kind: "set-status" | "clear-creating" | "adopt" | "collect-then-judge" | "collect" | "publish" | "report";
  /**
   * With `set-status`.
   */
  readonly to?: "pending" | "running" | "completed" | "failed" | "stopped";
  /**
   * With `set-status`.
   */
  readonly reason?: null | CorrectionReason;
  /**
   * With `adopt`.
   */
  readonly containerId?: string;
  /**
   * With `report`.
   */
  readonly note?: string;
}
export interface CorrectionReason {
  readonly code: string;
  readonly message: string;
}
export interface OwnerDocument {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}
