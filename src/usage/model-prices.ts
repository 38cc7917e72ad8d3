import type { ModelPrice } from "../contract/gateway.ts";

/** The date up to which `modelPrices` contains the prices that the providers published. */
export const modelPricesDate = "2026-11-06";

type PriceRow = readonly [model: string, input: number, output: number, cacheRead: number];

/**
 * The prices of models of which a token written to a five-minute cache costs a quarter more than other input:
 * the name or its beginning, input, output and cache reads.
 */
const withCacheWritePrice: readonly PriceRow[] = [
  ["claude-", 15, 75, 1.5],
  ["claude-fable-", 10, 50, 1],
  ["claude-fable-5-1", 10, 50, 0.25],
  ["claude-mythos-", 10, 50, 1],
  ["claude-mythos-5-1", 10, 50, 0.25],
  ["claude-opus-5", 5, 25, 0.5],
  ["claude-opus-5-5", 4, 20, 0.2],
  ["claude-opus-4-5", 5, 25, 0.5],
  ["claude-opus-4-6", 5, 25, 0.5],
  ["claude-opus-4-7", 5, 25, 0.5],
  ["claude-opus-4-8", 5, 25, 0.5],
  ["claude-sonnet-", 3, 15, 0.3],
  ["claude-sonnet-5", 2, 10, 0.2],
  ["claude-sonnet-5-5", 2, 10, 0.1],
  ["claude-haiku-", 1, 5, 0.1],
  ["claude-haiku-5-5", 0.1, 0.5, 0.01],
  ["claude-3-sonnet", 3, 15, 0.3],
  ["claude-3-5-sonnet", 3, 15, 0.3],
  ["claude-3-7-sonnet", 3, 15, 0.3],
  ["claude-3-5-haiku", 0.8, 4, 0.08],
  ["claude-3-haiku", 0.25, 1.25, 0.03],
  ["gpt-", 10, 50, 1],
  ["gpt-6", 10, 50, 1],
  ["gpt-6.1-sol", 2, 10, 0.1],
  ["gpt-6.1-terra", 1, 5, 0.05],
  ["gpt-6-sol", 2, 10, 0.2],
  ["gpt-6-luna", 0.1, 0.5, 0.01],
  ["gpt-5.", 5, 30, 0.5],
  ["gpt-5.6-terra", 2, 12, 0.2],
  ["gpt-5.6-luna", 0.2, 1.2, 0.02],
  ["codex-", 5, 30, 0.5],
];

/**
 * The prices of models of which a token written to a cache costs as much as other input. For Google, the
 * hourly price of cache storage is left out, because no response reports that storage.
 */
const withoutCacheWritePrice: readonly PriceRow[] = [
  ["gpt-5.5", 5, 30, 0.5],
  ["gpt-5.5-pro", 30, 180, 30],
  ["gpt-5.4", 2.5, 15, 0.25],
  ["gpt-5.4-mini", 0.75, 4.5, 0.075],
  ["gpt-5.4-nano", 0.2, 1.25, 0.02],
  ["gpt-5.4-pro", 30, 180, 30],
  ["gpt-5.3", 1.75, 14, 0.175],
  ["gpt-5.2", 1.75, 14, 0.175],
  ["gpt-5.2-pro", 21, 168, 21],
  ["gpt-5.1", 1.25, 10, 0.125],
  ["gpt-5.1-codex-mini", 0.25, 2, 0.025],
  ["gpt-5", 1.25, 10, 0.125],
  ["gpt-5-mini", 0.25, 2, 0.025],
  ["gpt-5-nano", 0.05, 0.4, 0.005],
  ["gpt-5-pro", 15, 120, 15],
  ["codex-mini", 1.5, 6, 0.375],
  ["gpt-4.5", 75, 150, 37.5],
  ["gpt-4.1", 2, 8, 0.5],
  ["gpt-4.1-mini", 0.4, 1.6, 0.1],
  ["gpt-4.1-nano", 0.1, 0.4, 0.025],
  ["gpt-4o", 2.5, 10, 1.25],
  ["gpt-4o-2024-05-13", 5, 15, 5],
  ["gpt-4o-mini", 0.15, 0.6, 0.075],
  ["chatgpt-4o", 5, 15, 5],
  ["gpt-4-turbo", 10, 30, 10],
  ["gpt-4-", 60, 120, 60],
  ["gpt-4", 30, 60, 30],
  ["gpt-3.5", 3, 4, 3],
  // OpenAI does not sell gpt-oss, so this is the price of the most expensive provider.
  ["gpt-oss", 0.35, 0.75, 0.35],
  ["text-embedding-", 0.13, 0, 0.13],
  ["o1", 15, 60, 7.5],
  ["o1-mini", 1.1, 4.4, 0.55],
  ["o1-pro", 150, 600, 150],
  ["o3", 2, 8, 0.5],
  ["o3-mini", 1.1, 4.4, 0.55],
  ["o3-pro", 20, 80, 20],
  ["o3-deep-research", 10, 40, 2.5],
  ["o4-mini", 1.1, 4.4, 0.275],
  ["o4-mini-deep-research", 2, 8, 0.5],
  ["gemini-", 4, 18, 0.4],
  ["gemini-3.6-flash", 1.5, 7.5, 0.15],
  ["gemini-3.7-flash", 1.5, 7.5, 0.15],
  ["gemini-3.8-flash", 1.5, 7.5, 0.15],
  ["gemini-3.5-flash", 1.5, 9, 0.15],
  ["gemini-3.5-flash-lite", 0.3, 2.5, 0.03],
  ["gemini-3.1-pro", 2, 12, 0.2],
  ["gemini-3.1-flash-lite", 0.25, 1.5, 0.025],
  ["gemini-3.1-flash-image", 0.5, 60, 0.5],
  ["gemini-3-pro", 2, 12, 0.2],
  ["gemini-3-pro-image", 2, 120, 2],
  ["gemini-3-flash", 0.5, 3, 0.05],
  ["gemini-2.5-pro", 1.25, 10, 0.125],
  ["gemini-2.5-flash", 0.3, 2.5, 0.03],
  ["gemini-2.5-flash-image", 0.3, 30, 0.3],
  ["gemini-2.5-flash-lite", 0.1, 0.4, 0.025],
  ["gemini-embedding", 0.2, 0, 0.2],
  ["gemini-2.0-flash", 0.1, 0.4, 0.025],
  ["gemini-2.0-flash-lite", 0.075, 0.3, 0.075],
];

/**
 * The prices of models in US dollars for a million tokens of input, output and cache reads. In case of
 * doubt, a price is too high rather than too low, so that no budget is exceeded:
 * - Temporary discounts are left out (gpt-5.6-sol, gemini-3.6-flash to 3.8-flash).
 * - An unknown model costs as much as the most expensive model of its family.
 * - A cache read without a published price costs as much as other input.
 */
export const modelPrices: readonly ModelPrice[] = [
  ...withCacheWritePrice.map((row) => priceOf(row, 1.25)),
  ...withoutCacheWritePrice.map((row) => priceOf(row, 1)),
];

/** Returns the prices that the user sets, and for all other models the prices in `modelPrices`. */
export function withDefaultPrices(own: readonly ModelPrice[]): readonly ModelPrice[] {
  const named = new Set(own.map(({ model }) => model.toLowerCase()));
  return [...own, ...modelPrices.filter(({ model }) => !named.has(model))];
}

function priceOf([model, input, output, cacheRead]: PriceRow, cacheWriteFactor: number): ModelPrice {
  return { model, input, output, cacheRead, cacheWrite: input * cacheWriteFactor };
}
