import type { WorkerErrorCode } from "../src/domain/acp-codes.ts";

/** The abort reason when the whole task has reached a limit: the current story fails, and no other story starts. */
export class TaskLimitReached extends Error {
  readonly code: WorkerErrorCode;
  /**
   * What the task delivers. `result`: a result with the completed stories. `nothing`: no result, because the
   * sandbox cannot be used any more.
   */
  readonly leaves: "result" | "nothing";

  constructor(code: WorkerErrorCode, message: string, leaves: TaskLimitReached["leaves"]) {
    super(message);
    this.name = "TaskLimit";
    this.code = code;
    this.leaves = leaves;
  }
}
