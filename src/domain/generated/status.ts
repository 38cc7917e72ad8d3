// Made from schemas/status.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What `swarm status --json` prints, and a line of `swarm status -w --json`.
 */
export interface SwarmStatusDocument {
  /**
   * As `swarm-state.schema.json` describes it; null where there is no swarm.
   */
  readonly swarm: {} | null;
  /**
   * false when the engine that could contradict the records did not answer.
   */
  readonly reconciled: boolean;
  readonly corrections: readonly CorrectionDocument[];
  /**
   * Names of containers of this worktree that no record knows.
   */
  readonly orphans: readonly string[];
  /**
   * The process that acts on the swarm; null when nobody does.
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
   * Whether the record was changed to it.
   */
  readonly applied: boolean;
}
/**
 * What was decided from.
 */
export interface CorrectedFrom {
  readonly status: "pending" | "running" | "completed" | "failed" | "stopped";
  readonly containerId: string | null;
  readonly attempt: number;
}
export interface CorrectionActionDocument {
  readonly kind: "set-status" | "clear-creating" | "adopt" | "collect-then-judge" | "collect" | "publish" | "report";
  /**
   * Of `set-status`.
   */
  readonly to?: "pending" | "running" | "completed" | "failed" | "stopped";
  /**
   * Of `set-status`.
   */
  readonly reason?: null | CorrectionReason;
  /**
   * Of `adopt`.
   */
  readonly containerId?: string;
  /**
   * Of `report`.
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
