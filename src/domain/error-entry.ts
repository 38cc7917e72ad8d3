import type { ExitCode } from "./exit-codes.ts";

/** The exit code of an error, and functions that make the error's message and hint from the facts. */
export interface ErrorEntry<Facts> {
  readonly exit: ExitCode;
  readonly says: (facts: Facts) => string;
  readonly hint?: (facts: Facts) => string;
}

export function entry<Facts>(
  exit: ExitCode,
  says: (facts: Facts) => string,
  hint?: (facts: Facts) => string,
): ErrorEntry<Facts> {
  return hint ? { exit, says, hint } : { exit, says };
}
