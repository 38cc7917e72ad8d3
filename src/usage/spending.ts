import type { ModelPrice, Spending } from "../contract/gateway.ts";
import { longPromptPriceFactors } from "./long-prompt-prices.ts";
import { findByLongestModelPrefix } from "./model-prefix.ts";

/**
 * The tokens that one call of a model's API used, as the API reports them. No token is in two of the first
 * four counts.
 */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /**
   * The number of the tokens in `cacheWriteTokens` that the API caches for an hour or longer, at a higher
   * price.
   */
  readonly longCacheWriteTokens: number;
  /** The factor by which a faster or regional service of the API multiplies the price. */
  readonly priceFactor: number;
  /** The cost in US dollars of the API's services that are not paid per token, such as searches. */
  readonly feeUsd: number;
}

export const zeroTokenCounts: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  longCacheWriteTokens: 0,
  priceFactor: 1,
  feeUsd: 0,
};

export const zeroSpending: Spending = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  unpricedTokens: 0,
};

/** The four counts of tokens. No token is in two of them. */
export type Tokens = Pick<
  TokenCounts,
  "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens"
>;

/** Merges the counts of tokens of two usages; by default, adds them. */
export function mergeTokens(
  one: Tokens,
  other: Tokens,
  merge = (amount: number, more: number): number => amount + more,
): Tokens {
  return {
    inputTokens: merge(one.inputTokens, other.inputTokens),
    outputTokens: merge(one.outputTokens, other.outputTokens),
    cacheReadTokens: merge(one.cacheReadTokens, other.cacheReadTokens),
    cacheWriteTokens: merge(one.cacheWriteTokens, other.cacheWriteTokens),
  };
}

/** Merges two records of numbers, field by field. */
export function mergeCounts<Counts extends Readonly<Record<keyof Counts, number>>>(
  one: Counts,
  other: Counts,
  merge: (amount: number, another: number) => number,
): Counts {
  const fields = Object.keys(one) as (keyof Counts)[];
  return Object.fromEntries(fields.map((field) => [field, merge(one[field], other[field])])) as Counts;
}

export function addSpending(one: Spending, other: Spending): Spending {
  return mergeCounts(one, other, (amount, more) => amount + more);
}

/**
 * Returns the larger value of each field of two counts of the same calls. If both counts are incomplete, this
 * is the best estimate.
 */
export function maxSpending(one: Spending, other: Spending): Spending {
  return mergeCounts(one, other, Math.max);
}

/**
 * Subtracts the spending `other` from the spending `known`, field by field. A negative difference becomes 0.
 */
export function subtractSpending(known: Spending, other: Spending): Spending {
  return mergeCounts(known, other, (amount, less) => Math.max(0, amount - less));
}

/** Returns the number of tokens that count towards a budget: input, output, cache reads and cache writes. */
export function countBudgetTokens({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Spending): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

/**
 * The ratio of the price of a one-hour cache write (2 times the input price) to that of a five-minute cache
 * write (1.25 times). The price table has only the price of five-minute writes.
 */
const longCacheFactor = 2 / 1.25;

/**
 * Computes the tokens and the cost of one call of a model's API. If the call does not name its model (`model`
 * is null), the price of the most expensive model applies, so that an agent cannot evade its budget.
 */
export function spendingOfCall(
  prices: readonly ModelPrice[],
  model: string | null,
  counts: TokenCounts,
): Spending {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, feeUsd } = counts;
  const spent = {
    calls: 1,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costUsd: feeUsd,
    unpricedTokens: 0,
  };
  const price = model === null ? mostExpensive(prices) : findByLongestModelPrefix(prices, model);
  if (price === undefined) return { ...spent, unpricedTokens: countBudgetTokens(spent) };
  const factors = longPromptPriceFactors(
    model ?? price.model,
    inputTokens + cacheReadTokens + cacheWriteTokens,
  );
  const written =
    cacheWriteTokens + Math.min(counts.longCacheWriteTokens, cacheWriteTokens) * (longCacheFactor - 1);
  const prompt = inputTokens * price.input + cacheReadTokens * price.cacheRead + written * price.cacheWrite;
  const answer = outputTokens * price.output;
  const costUsd =
    ((prompt * factors.prompt + answer * factors.answer) * counts.priceFactor) / 1_000_000 + feeUsd;
  return { ...spent, costUsd };
}

function mostExpensive(prices: readonly ModelPrice[]): ModelPrice | undefined {
  return prices.toSorted((one, other) => other.output - one.output || other.input - one.input)[0];
}
