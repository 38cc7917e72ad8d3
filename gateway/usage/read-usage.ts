import { type TokenCounts, zeroTokenCounts } from "../../src/usage/spending.ts";
import type { ExtractedJsonRecord } from "./extracted-values.ts";

/** The model and the token counts that a model API reported in its answer to a call. */
export interface ReportedUsage {
  readonly model: string | null;
  readonly counts: TokenCounts | null;
  /**
   * Whether the counts are final, because the answer's last usage report has arrived. False if there are no
   * counts.
   */
  readonly isComplete: boolean;
}

/**
 * Reads the token usage from an API's answer, record by record. A record is an event of a stream, or the
 * whole body of an answer that is not a stream.
 */
export interface UsageRecordReader {
  /** The JSON paths of the values that the reader needs from each record. */
  readonly paths: readonly string[];
  take(record: ExtractedJsonRecord): void;
  /** Called when the event `[DONE]` ends the stream. */
  done?(): void;
  /**
   * Returns the reported usage after the end of the answer. `isWhole` says whether the answer was one
   * complete JSON text.
   */
  result(isWhole: boolean): ReportedUsage;
}

/** The usage of a call that the API refused before the model began to answer: zero tokens. */
export const usageOfRefusedCall: Omit<ReportedUsage, "model"> = { counts: zeroTokenCounts, isComplete: true };

/**
 * Returns the token count in the first of the named members that `usage` has, or 0 if it has none of them.
 * Returns NaN if that member is not a valid number, so that each sum with the result is invalid, too.
 */
export function readTokenCount(usage: unknown, ...names: readonly string[]): number {
  for (const name of names) {
    const value = readOwnMember(usage, name);
    if (value === undefined || value === null) continue;
    const amount = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
    const isAmount = typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER;
    return isAmount ? Math.ceil(amount) : Number.NaN;
  }
  return 0;
}

/** Whether a value is an object in which at least one of the named members is neither missing nor null. */
export function hasAnyMember(usage: unknown, ...names: readonly string[]): boolean {
  return names.some((name) => (readOwnMember(usage, name) ?? null) !== null);
}

/**
 * Returns the object's own member of this name; undefined if the value is no object or has no such member.
 */
export function readOwnMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** Returns the token counts, or null if any of them is negative, too large or not a number. */
export function toValidTokenCounts(counts: TokenCounts): TokenCounts | null {
  return Object.values(counts).every((amount) => amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)
    ? counts
    : null;
}

/**
 * Returns the value if it can be the name of a model; null if it is not a string, is empty, or is too long.
 */
export function toValidModelName(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
