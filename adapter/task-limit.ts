import type { AcpErrorCode } from "../src/domain/acp-codes.ts";

/** A limit of the whole task is reached: the story that is being carried out fails by it, and no other is begun. */
export class TaskLimit extends Error {
  readonly code: AcpErrorCode;
  /** `result`: what was done counts. `nothing`: no run could go on here. */
  readonly leaves: "result" | "nothing";

  constructor(code: AcpErrorCode, message: string, leaves: TaskLimit["leaves"]) {
    super(message);
    this.name = "TaskLimit";
    this.code = code;
    this.leaves = leaves;
  }
}
