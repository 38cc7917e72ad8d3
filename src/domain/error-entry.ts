import type { ExitCode } from "./exit-codes.ts";

/** The exit code of an error, and functions that make the error's message and hint from the facts. */
export interface ErrorEntry<Facts> {
  readonly exitCode: ExitCode;
  readonly message: (facts: Facts) => string;
  readonly hint?: (facts: Facts) => string;
}

export function createErrorEntry<Facts>(
  exitCode: ExitCode,
  message: (facts: Facts) => string,
  hint?: (facts: Facts) => string,
): ErrorEntry<Facts> {
  return hint ? { exitCode, message, hint } : { exitCode, message };
}
