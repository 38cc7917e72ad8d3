import { type ErrorFacts, errorCatalogue } from "./error-catalogue.ts";
import type { ExitCode } from "./exit-codes.ts";

export type ErrorCode = keyof ErrorFacts;

/** An error as swarm prints it, or returns it as JSON: code, message, hint and details. */
export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
}

/** An expected error, with a code and a hint for the user. Any other thrown error is a bug in swarm. */
export class SwarmError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;
  readonly details: ErrorFacts[Code];

  constructor(code: Code, facts: ErrorFacts[Code], cause?: unknown) {
    const { exitCode, message, hint } = errorCatalogue[code];
    super(message(facts), cause === undefined ? undefined : { cause });
    this.name = "SwarmError";
    this.code = code;
    this.exitCode = exitCode;
    this.hint = hint?.(facts);
    this.details = facts;
  }

  report(): ErrorReport {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint && { hint: this.hint }),
      details: this.details,
    };
  }
}

/** Returns whether a thrown value is the expected error with this code. */
export function isError<Code extends ErrorCode>(thrown: unknown, code: Code): thrown is SwarmError<Code> {
  return thrown instanceof SwarmError && thrown.code === code;
}
