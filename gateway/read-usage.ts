import type { TokenCounts } from "../src/domain/spending.ts";
import type { PickedRecord } from "./picked-values.ts";

/** The usage that an answer reported. */
export interface ReadUsage {
  readonly model: string | null;
  readonly counts: TokenCounts | null;
  /** Whether the counts are final: the API's last report was seen. Never true without counts. */
  readonly isComplete: boolean;
}

/** Reads one API's answer, record by record: the events of a stream, or the whole body. */
export interface RecordReader {
  /** The JSON paths that it reads. */
  readonly paths: readonly string[];
  take(record: PickedRecord): void;
  /** Notes the `[DONE]` that ends a stream. */
  done(): void;
  /** `isWhole`: the answer was one complete JSON text. */
  result(isWhole: boolean): ReadUsage;
}

export const noTokens: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

/** The usage of a call that the API refused before it began. */
export const refused: Omit<ReadUsage, "model"> = { counts: noTokens, isComplete: true };

/**
 * The first of these members that exists, as a number of tokens: 0 when none exists, and NaN when it is no valid
 * number of tokens, so that sums with it are invalid as well.
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

/** Whether the value is an object with at least one of these members. */
export function hasAny(usage: unknown, ...names: readonly string[]): boolean {
  return names.some((name) => (memberOf(usage, name) ?? null) !== null);
}

/** An own member of an object; undefined when there is none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** The counts; null unless each is a valid number of tokens. */
export function validCounts(counts: TokenCounts): TokenCounts | null {
  return Object.values(counts).every((amount) => amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)
    ? counts
    : null;
}

/** Merges two reports of growing counts: for each field the larger one. */
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

/** A model's name; null unless it is a string of sensible length. */
export function modelName(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= 200 ? value : null;
}
