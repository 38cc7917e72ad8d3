import type { ExitCode } from "./exit-codes.ts";

/** An error's exit code, its message, and a hint what to do next. */
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
