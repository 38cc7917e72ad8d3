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
    this.hint = typeof hint === "function" ? hint(facts) : hint;
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

/** Returns the error for a command line that swarm cannot run. */
export function usageError(message: string): SwarmError<"USAGE"> {
  return new SwarmError("USAGE", { message });
}

/** Returns the error for a flag, argument or variable with a wrong value. */
export function invalidValue(name: string, value: unknown, expected: string): SwarmError<"INVALID_VALUE"> {
  return new SwarmError("INVALID_VALUE", { name, value: String(value), expected });
}

/** Returns whether a thrown value is the expected error with this code. */
export function isError<Code extends ErrorCode>(thrown: unknown, code: Code): thrown is SwarmError<Code> {
  return thrown instanceof SwarmError && thrown.code === code;
}

/** Throws every value that is no expected error again: such a value shows a bug in swarm. */
export function requireExpected(thrown: unknown): asserts thrown is SwarmError {
  if (!(thrown instanceof SwarmError)) throw thrown;
}

/** Returns the message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
