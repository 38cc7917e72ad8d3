import type { ModelPrice, Spending } from "./generated/gateway.ts";
import { longPromptFactors } from "./long-prompts.ts";
import { longestBeginning } from "./model-name.ts";

/** What one call took, as its API counts it. None of the four contains another. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** How many of those written to a cache stay there for an hour or longer. */
  readonly longCacheWriteTokens?: number;
  /** By how much a faster or a regional service is dearer. */
  readonly priceFactor?: number;
  /** US dollars for what is not paid by the token, such as searches. */
  readonly feeUsd?: number;
}

export const nothingSpent: Spending = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  unpricedTokens: 0,
};

export function addSpending(one: Spending, other: Spending): Spending {
  return merged(one, other, (amount, more) => amount + more);
}

/** Field by field the larger: what two who count the same know together. */
export function largerSpending(one: Spending, other: Spending): Spending {
  return merged(one, other, Math.max);
}

/** Field by field what the one knows and the other does not. */
export function missingSpending(known: Spending, other: Spending): Spending {
  return merged(known, other, (amount, less) => Math.max(0, amount - less));
}

/** All tokens that count for a budget. */
export function tokensIn({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Spending): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

/** A cache for an hour takes 2 times the input's price, one for minutes 1.25 times; a price names the latter. */
const longCacheFactor = 2 / 1.25;

/**
 * One call's tokens and what they cost. Of prices for the same beginning, the first counts. A call whose model is hidden from
 * us costs as much as the dearest one: else who hides it would have it for nothing.
 */
export function spendingOf(
  prices: readonly ModelPrice[],
  model: string | null,
  counts: TokenCounts,
): Spending {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = counts;
  const { longCacheWriteTokens = 0, priceFactor = 1, feeUsd = 0 } = counts;
  const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
  const spent = { ...nothingSpent, ...tokens, calls: 1, costUsd: feeUsd };
  const price = model === null ? dearest(prices) : longestBeginning(prices, model);
  if (price === undefined) return { ...spent, unpricedTokens: tokensIn(spent) };
  const factors = longPromptFactors(model ?? price.model, inputTokens + cacheReadTokens + cacheWriteTokens);
  const written = cacheWriteTokens + Math.min(longCacheWriteTokens, cacheWriteTokens) * (longCacheFactor - 1);
  const prompt = inputTokens * price.input + cacheReadTokens * price.cacheRead + written * price.cacheWrite;
  const answer = outputTokens * price.output;
  const costUsd = ((prompt * factors.prompt + answer * factors.answer) * priceFactor) / 1_000_000 + feeUsd;
  return { ...spent, costUsd };
}

function dearest(prices: readonly ModelPrice[]): ModelPrice | undefined {
  return prices.toSorted((one, other) => other.output - one.output || other.input - one.input)[0];
}

function merged(
  one: Spending,
  other: Spending,
  merge: (amount: number, another: number) => number,
): Spending {
  return {
    calls: merge(one.calls, other.calls),
    inputTokens: merge(one.inputTokens, other.inputTokens),
    outputTokens: merge(one.outputTokens, other.outputTokens),
    cacheReadTokens: merge(one.cacheReadTokens, other.cacheReadTokens),
    cacheWriteTokens: merge(one.cacheWriteTokens, other.cacheWriteTokens),
    costUsd: merge(one.costUsd, other.costUsd),
    unpricedTokens: merge(one.unpricedTokens, other.unpricedTokens),
  };
}
