import type { TaskRequestPayload } from "../../contract/acp.ts";
import type { WorkerTask } from "../../tasks/rules/plan.ts";

/** A worker that is ready to run, with its task and everything that stays the same during the attempt. */
export interface Worker {
  /** The name of the worker's container. It also identifies the worker's record. */
  readonly name: string;
  readonly slug: string;
  readonly task: WorkerTask;
  /**
   * The commit on which the worker's result is based. It stays the same in later attempts, unless the user
   * orders a rework of the result.
   */
  readonly base: string;
  /** The task request for the worker's adapter. The owner may send it more than once. */
  readonly request: TaskRequestPayload;
}

/**
 * A worker that has not ended and is not prepared yet, so its base commit and its task request are still
 * unknown.
 */
export interface UnpreparedWorker extends Pick<Worker, "name" | "slug" | "task"> {
  /** The names of the workers on whose results this worker's task builds. */
  readonly dependsOn: readonly string[];
}

/** A request to stop a worker before its task is done. */
export interface HaltRequest {
  readonly reason: string;
  /** The time in milliseconds within which the agent must end by itself. */
  readonly graceMs: number;
}
