import type { TokenCounts } from "../src/domain/spending.ts";
import type { PickedRecord } from "./picked-values.ts";

/** The model and the token counts that a model API's answer reported. */
export interface ReportedUsage {
  readonly model: string | null;
  readonly counts: TokenCounts | null;
  /**
   * Whether the counts are final, because the reader has read the API's last report. False if there are no
   * counts.
   */
  readonly isComplete: boolean;
}

/** Reads the usage from an answer of one API, record by record. A record is an event of a stream, or the whole body. */
export interface UsageRecordReader {
  /** The JSON paths that the reader needs of each record. */
  readonly paths: readonly string[];
  take(record: PickedRecord): void;
  /** Called at the `[DONE]` that ends a stream. */
  done(): void;
  /** Returns the usage at the end of the answer. `isWhole`: whether the answer was one complete JSON text. */
  result(isWhole: boolean): ReportedUsage;
}

export const zeroTokenCounts: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** The usage of a call that the API refused before the model began to answer: no tokens. */
export const usageOfRefusedCall: Omit<ReportedUsage, "model"> = { counts: zeroTokenCounts, isComplete: true };

/**
 * Returns the number of tokens in the first of these members that exists; 0 if none exists. Returns NaN for
 * an invalid number, so that every sum with it is invalid, too.
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

/** Whether a value is an object that has at least one of these members, with a value other than null. */
export function hasAnyMember(usage: unknown, ...names: readonly string[]): boolean {
  return names.some((name) => (readOwnMember(usage, name) ?? null) !== null);
}

/** Returns an object's own member; undefined if there is none. */
export function readOwnMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** Returns the counts; null if any of them is no valid number of tokens. */
export function toValidTokenCounts(counts: TokenCounts): TokenCounts | null {
  return Object.values(counts).every((amount) => amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)
    ? counts
    : null;
}

/** Merges two reports of growing token counts: returns the larger count of each field. */
export function maxTokenCounts(one: TokenCounts | null, other: TokenCounts | null): TokenCounts | null {
  if (one === null || other === null) return one ?? other;
  return {
    inputTokens: Math.max(one.inputTokens, other.inputTokens),
    outputTokens: Math.max(one.outputTokens, other.outputTokens),
    cacheReadTokens: Math.max(one.cacheReadTokens, other.cacheReadTokens),
    cacheWriteTokens: Math.max(one.cacheWriteTokens, other.cacheWriteTokens),
    longCacheWriteTokens: Math.max(one.longCacheWriteTokens ?? 0, other.longCacheWriteTokens ?? 0),
    priceFactor: Math.max(one.priceFactor ?? 1, other.priceFactor ?? 1),
    feeUsd: Math.max(one.feeUsd ?? 0, other.feeUsd ?? 0),
  };
}

/**
 * Returns the value if it is a valid name of a model; null if it is not a string, is empty, or is too long.
 */
export function toValidModelName(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
