import type { WorkerErrorCode } from "../src/domain/acp-codes.ts";

/** Thrown when no story can continue. It becomes the `error` message, and the supervisor exits with 2. */
export class CannotWork extends Error {
  readonly code: WorkerErrorCode;

  constructor(code: WorkerErrorCode, message: string) {
    super(message);
    this.name = "CannotWork";
    this.code = code;
  }
}
