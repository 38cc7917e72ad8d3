import type { ExitCode } from "./exit-codes.ts";

/**
 * One entry of the error catalogue: the error's exit code, and functions that make the message and the hint
 * from the error's values.
 */
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
