// Made from schemas/sandbox-run.schema.json by scripts/generate.ts. Change the schema, not this file.

export type SandboxReason = {
  readonly code: string;
  readonly message: string;
} | null;
/**
 * null until the engine has made it.
 */
export type SandboxContainer = {
  readonly id: string;
  /**
   * The image's id.
   */
  readonly image: string;
} | null;

/**
 * `.aimi/sandboxes/<id>/run.json`: what is known of one sandbox and of the last task in it.
 */
export interface SandboxRecord {
  readonly version: 1;
  /**
   * Only in the file: what the swarm of the user who made the sandbox wrote under the rest of it.
   */
  readonly seal?: string;
  readonly id: string;
  /**
   * Its name; the id where the spec gives none.
   */
  readonly sandbox: string;
  readonly status: "created" | "running" | "completed" | "failed" | "timeout" | "destroyed";
  /**
   * The task file, as it was named.
   */
  readonly task: string | null;
  readonly createdAt: string;
  /**
   * Of the last task; of the container while no task has run.
   */
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  /**
   * Milliseconds between the two.
   */
  readonly duration: number | null;
  readonly exitCode: number | null;
  readonly reason: SandboxReason;
  /**
   * As the spec says it; `none` for a sandbox that nothing ends.
   */
  readonly ttl: string;
  readonly ttlMs: number | null;
  /**
   * The reference that it was made from.
   */
  readonly image: string;
  /**
   * How a task file is run: by python, node, bash, or its own first line.
   */
  readonly runtime: "python" | "node" | "bash" | "image";
  readonly isolation: SandboxIsolation;
  readonly network: "none" | "bridge" | "host";
  readonly container: SandboxContainer;
  /**
   * The endpoint of the engine that it is on.
   */
  readonly engine: string;
  /**
   * The key of the running task, by which its end is asked for.
   */
  readonly execution: string | null;
  /**
   * @maxItems 200
   */
  readonly missingOutputs: readonly string[];
  /**
   * What the spec says a task will write below /outputs.
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
   * Files that it may hold.
   */
  readonly files: number;
}
