import type { SourceLocation } from "../text/source-location.ts";
import type { ExitCode } from "./exit-codes.ts";

/** Facts that are texts, by their names. */
export type Texts<Name extends string> = Readonly<Record<Name, string>>;

/** Facts with the position in a file to which they refer. */
export type Located<Name extends string> = Texts<Name> & { readonly place: SourceLocation };

/**
 * One entry of the error catalogue: the error's exit code, and functions that make the message and the hint
 * from the error's facts. A hint that needs no facts is a text.
 */
export interface ErrorEntry<Facts> {
  readonly exitCode: ExitCode;
  readonly message: (facts: Facts) => string;
  readonly hint: string | ((facts: Facts) => string);
}

/** The entries of a catalogue, for errors with the given facts. */
export type ErrorEntries<FactsByCode> = {
  readonly [Code in keyof FactsByCode]: ErrorEntry<FactsByCode[Code]>;
};

/** Makes the entry of an error from its message and its hint. */
type MakeEntry = <Facts>(
  message: ErrorEntry<Facts>["message"],
  hint: ErrorEntry<Facts>["hint"],
) => ErrorEntry<Facts>;

/** Returns a function that makes entries with the given exit code. */
export function entriesWith(exitCode: ExitCode): MakeEntry {
  return (message, hint) => ({ exitCode, message, hint });
}
