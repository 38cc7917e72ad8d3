import type { AcpErrorCode } from "../src/domain/acp-codes.ts";

/** Why no story can be carried out: it becomes the `error` message, and the supervisor exits 2. */
export class CannotWork extends Error {
  readonly code: AcpErrorCode;

  constructor(code: AcpErrorCode, message: string) {
    super(message);
    this.name = "CannotWork";
    this.code = code;
  }
}
