import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";

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
