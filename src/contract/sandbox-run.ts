// Made from schemas/sandbox-run.schema.json by scripts/generate.ts. Change the schema, not this file.

export type SandboxReason = {
  readonly code: string;
  readonly message: string;
} | null;
/**
 * The container; null until the engine has created it.
 */
export type SandboxContainer = {
  readonly id: string;
  /**
   * The image's id.
   */
  readonly image: string;
} | null;

/**
 * `.aimi/sandboxes/<id>/run.json`: the record of one sandbox and of the last task in it.
 */
export interface SandboxRecord {
  readonly version: 1;
  /**
   * Only in the file: a message authentication code of the rest, with the key of the user who made the sandbox.
   */
  readonly seal?: string;
  readonly id: string;
  /**
   * The sandbox's name; its id when the spec gives none.
   */
  readonly sandbox: string;
  readonly status: "created" | "running" | "completed" | "failed" | "timeout" | "destroyed";
  /**
   * The task file, as the user named it.
   */
  readonly task: string | null;
  readonly createdAt: string;
  /**
   * The time of the last task; of the container while no task has run.
   */
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  /**
   * The milliseconds between the two.
   */
  readonly duration: number | null;
  readonly exitCode: number | null;
  readonly reason: SandboxReason;
  /**
   * The time to live, as the spec gives it; `none` for a sandbox without one.
   */
  readonly ttl: string;
  readonly ttlMs: number | null;
  /**
   * The reference of its image.
   */
  readonly image: string;
  /**
   * The interpreter of a task file: python, node, bash, or the one in its first line.
   */
  readonly runtime: "python" | "node" | "bash" | "image";
  readonly isolation: SandboxIsolation;
  readonly network: "none" | "bridge" | "host";
  readonly container: SandboxContainer;
  /**
   * The endpoint of its engine.
   */
  readonly engine: string;
  /**
   * The key of the running task, with which swarm asks for its end.
   */
  readonly execution: string | null;
  /**
   * @maxItems 200
   */
  readonly missingOutputs: readonly string[];
  /**
   * The outputs that the spec expects below /outputs.
   *
   * @maxItems 200
   */
  readonly expectedOutputs: readonly string[];
  readonly limits: SandboxLimits;
}
export interface SandboxIsolation {
  readonly level: "strong" | "userns" | "shared-kernel";
  readonly runtime: string;
}
export interface SandboxLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly pids: number;
  /**
   * The maximum number of files.
   */
  readonly files: number;
}
