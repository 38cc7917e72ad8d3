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
