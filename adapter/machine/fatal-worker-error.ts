import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";

/**
 * Thrown when the worker cannot carry out any story. The supervisor then writes an `error` message with this
 * code to the journal, and exits with 2.
 */
export class FatalWorkerError extends Error {
  readonly code: WorkerErrorCode;

  constructor(code: WorkerErrorCode, message: string) {
    super(message);
    this.name = "CannotWork";
    this.code = code;
  }
}

/**
 * The abort reason when the whole task has reached a limit. The current story then fails, and no further
 * story starts.
 */
export class TaskLimitReached extends Error {
  readonly code: WorkerErrorCode;
  /**
   * What the task still delivers after it has reached a limit: a `result` with the completed stories, or
   * `nothing`, because the sandbox is no longer usable.
   */
  readonly leaves: "result" | "nothing";

  constructor(code: WorkerErrorCode, message: string, leaves: TaskLimitReached["leaves"]) {
    super(message);
    this.name = "TaskLimit";
    this.code = code;
    this.leaves = leaves;
  }
}
