import type { TokenCounts } from "../src/domain/spending.ts";
import type { PickedRecord } from "./picked-values.ts";

/** What an answer told of what it took. */
export interface ReadUsage {
  readonly model: string | null;
  readonly counts: TokenCounts | null;
  /** Whether the API's own last word was seen: nothing more can have been spent. Never without counts. */
  readonly isComplete: boolean;
}

/** Reads the words of one API, record by record: the events of a stream, or the whole body. */
export interface RecordReader {
  /** What it needs to see of a record. */
  readonly paths: readonly string[];
  take(record: PickedRecord): void;
  /** `[DONE]` was said. */
  done(): void;
  /** `isWhole`: it was one JSON text, complete. */
  result(isWhole: boolean): ReadUsage;
}

export const noTokens: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** Refused before it began: that costs nothing. */
export const refused: Omit<ReadUsage, "model"> = { counts: noTokens, isComplete: true };

/**
 * The first of these members that is there, as a number of tokens: 0 when there is none, and NaN for what no number of
 * tokens can be, so that a sum with it is none either.
 */
export function tokensAt(usage: unknown, ...names: readonly string[]): number {
  for (const name of names) {
    const value = memberOf(usage, name);
    if (value === undefined || value === null) continue;
    const amount = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
    const isAmount = typeof amount === "number" && amount >= 0 && amount <= Number.MAX_SAFE_INTEGER;
    return isAmount ? Math.ceil(amount) : Number.NaN;
  }
  return 0;
}

/** Whether it is an object that has at least one of these: anything else tells nothing. */
export function tellsAny(usage: unknown, ...names: readonly string[]): boolean {
  return names.some((name) => (memberOf(usage, name) ?? null) !== null);
}

/** An own member of an object; undefined for everything else. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** Null unless each is a number of tokens. */
export function validCounts(counts: TokenCounts): TokenCounts | null {
  return Object.values(counts).every((amount) => amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)
    ? counts
    : null;
}

/** Counts that only grow, told again and again: field by field the larger. */
export function largerCounts(one: TokenCounts | null, other: TokenCounts | null): TokenCounts | null {
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

/** A model's name as one may be shown and priced. */
export function modelName(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
