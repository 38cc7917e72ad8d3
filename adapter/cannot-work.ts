import type { WorkerErrorCode } from "../src/domain/acp-codes.ts";

/** Thrown when no story can continue. The supervisor then journals an `error` message with this code and exits with 2. */
export class FatalWorkerError extends Error {
  readonly code: WorkerErrorCode;

  constructor(code: WorkerErrorCode, message: string) {
    super(message);
    this.name = "CannotWork";
    this.code = code;
  }
}
