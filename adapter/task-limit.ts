import type { WorkerErrorCode } from "../src/domain/acp-codes.ts";

/** The abort reason when the whole task has reached a limit: the current story fails, and no other one starts. */
export class TaskLimit extends Error {
  readonly code: WorkerErrorCode;
  /** `result`: the completed stories count. `nothing`: no later run could continue here. */
  readonly leaves: "result" | "nothing";

  constructor(code: WorkerErrorCode, message: string, leaves: TaskLimit["leaves"]) {
    super(message);
    this.name = "TaskLimit";
    this.code = code;
    this.leaves = leaves;
  }
}
