import type { ModelPrice } from "../contract/gateway.ts";

/** The date up to which `modelPrices` contains the prices that the providers published. */
export const modelPricesDate = "2026-11-06";

/**
 * The prices of models in US dollars for a million tokens of input, output and cache reads. In case of
 * doubt, a price is too high rather than too low, so that no budget is exceeded:
 * - Temporary discounts are left out (gpt-5.6-sol, gemini-3.6-flash to 3.8-flash).
 * - An unknown model costs as much as the most expensive model of its family.
 * - A cache read without a published price costs as much as other input.
 */
export const modelPrices: readonly ModelPrice[] = [
  anthropic("claude-", 15, 75, 1.5),
  anthropic("claude-fable-", 10, 50, 1),
  anthropic("claude-fable-5-1", 10, 50, 0.25),
  anthropic("claude-mythos-", 10, 50, 1),
  anthropic("claude-mythos-5-1", 10, 50, 0.25),
  anthropic("claude-opus-5", 5, 25, 0.5),
  anthropic("claude-opus-5-5", 4, 20, 0.2),
  ...["claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8"].map((model) =>
    anthropic(model, 5, 25, 0.5),
  ),
  anthropic("claude-sonnet-", 3, 15, 0.3),
  anthropic("claude-sonnet-5", 2, 10, 0.2),
  anthropic("claude-sonnet-5-5", 2, 10, 0.1),
  anthropic("claude-haiku-", 1, 5, 0.1),
  anthropic("claude-haiku-5-5", 0.1, 0.5, 0.01),
  ...["claude-3-sonnet", "claude-3-5-sonnet", "claude-3-7-sonnet"].map((model) =>
    anthropic(model, 3, 15, 0.3),
  ),
  anthropic("claude-3-5-haiku", 0.8, 4, 0.08),
  anthropic("claude-3-haiku", 0.25, 1.25, 0.03),

  openaiWithWrites("gpt-", 10, 50, 1),
  openaiWithWrites("gpt-6", 10, 50, 1),
  openaiWithWrites("gpt-6.1-sol", 2, 10, 0.1),
  openaiWithWrites("gpt-6.1-terra", 1, 5, 0.05),
  openaiWithWrites("gpt-6-sol", 2, 10, 0.2),
  openaiWithWrites("gpt-6-luna", 0.1, 0.5, 0.01),
  openaiWithWrites("gpt-5.", 5, 30, 0.5),
  openaiWithWrites("gpt-5.6-terra", 2, 12, 0.2),
  openaiWithWrites("gpt-5.6-luna", 0.2, 1.2, 0.02),
  openai("gpt-5.5", 5, 30, 0.5),
  openai("gpt-5.5-pro", 30, 180, 30),
  openai("gpt-5.4", 2.5, 15, 0.25),
  openai("gpt-5.4-mini", 0.75, 4.5, 0.075),
  openai("gpt-5.4-nano", 0.2, 1.25, 0.02),
  openai("gpt-5.4-pro", 30, 180, 30),
  openai("gpt-5.3", 1.75, 14, 0.175),
  openai("gpt-5.2", 1.75, 14, 0.175),
  openai("gpt-5.2-pro", 21, 168, 21),
  openai("gpt-5.1", 1.25, 10, 0.125),
  openai("gpt-5.1-codex-mini", 0.25, 2, 0.025),
  openai("gpt-5", 1.25, 10, 0.125),
  openai("gpt-5-mini", 0.25, 2, 0.025),
  openai("gpt-5-nano", 0.05, 0.4, 0.005),
  openai("gpt-5-pro", 15, 120, 15),
  openaiWithWrites("codex-", 5, 30, 0.5),
  openai("codex-mini", 1.5, 6, 0.375),
  openai("gpt-4.5", 75, 150, 37.5),
  openai("gpt-4.1", 2, 8, 0.5),
  openai("gpt-4.1-mini", 0.4, 1.6, 0.1),
  openai("gpt-4.1-nano", 0.1, 0.4, 0.025),
  openai("gpt-4o", 2.5, 10, 1.25),
  openai("gpt-4o-2024-05-13", 5, 15, 5),
  openai("gpt-4o-mini", 0.15, 0.6, 0.075),
  openai("chatgpt-4o", 5, 15, 5),
  openai("gpt-4-turbo", 10, 30, 10),
  openai("gpt-4-", 60, 120, 60),
  openai("gpt-4", 30, 60, 30),
  openai("gpt-3.5", 3, 4, 3),
  // OpenAI does not sell gpt-oss, so this is the price of the most expensive provider.
  openai("gpt-oss", 0.35, 0.75, 0.35),
  openai("text-embedding-", 0.13, 0, 0.13),
  openai("o1", 15, 60, 7.5),
  openai("o1-mini", 1.1, 4.4, 0.55),
  openai("o1-pro", 150, 600, 150),
  openai("o3", 2, 8, 0.5),
  openai("o3-mini", 1.1, 4.4, 0.55),
  openai("o3-pro", 20, 80, 20),
  openai("o3-deep-research", 10, 40, 2.5),
  openai("o4-mini", 1.1, 4.4, 0.275),
  openai("o4-mini-deep-research", 2, 8, 0.5),

  google("gemini-", 4, 18, 0.4),
  ...["gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash"].map((model) =>
    google(model, 1.5, 7.5, 0.15),
  ),
  google("gemini-3.5-flash", 1.5, 9, 0.15),
  google("gemini-3.5-flash-lite", 0.3, 2.5, 0.03),
  google("gemini-3.1-pro", 2, 12, 0.2),
  google("gemini-3.1-flash-lite", 0.25, 1.5, 0.025),
  google("gemini-3.1-flash-image", 0.5, 60, 0.5),
  google("gemini-3-pro", 2, 12, 0.2),
  google("gemini-3-pro-image", 2, 120, 2),
  google("gemini-3-flash", 0.5, 3, 0.05),
  google("gemini-2.5-pro", 1.25, 10, 0.125),
  google("gemini-2.5-flash", 0.3, 2.5, 0.03),
  google("gemini-2.5-flash-image", 0.3, 30, 0.3),
  google("gemini-2.5-flash-lite", 0.1, 0.4, 0.025),
  google("gemini-embedding", 0.2, 0, 0.2),
  google("gemini-2.0-flash", 0.1, 0.4, 0.025),
  google("gemini-2.0-flash-lite", 0.075, 0.3, 0.075),
];

/** Returns the prices that the user sets, and for all other models the prices in `modelPrices`. */
export function withDefaultPrices(own: readonly ModelPrice[]): readonly ModelPrice[] {
  const named = new Set(own.map(({ model }) => model.toLowerCase()));
  return [...own, ...modelPrices.filter(({ model }) => !named.has(model))];
}

/**
 * Creates the prices of a model. A token written to a five-minute cache costs a quarter more than other
 * input.
 */
function anthropic(model: string, input: number, output: number, cacheRead: number): ModelPrice {
  return { model, input, output, cacheRead, cacheWrite: input * 1.25 };
}

/**
 * Creates the prices of an OpenAI model up to gpt-5.5. A token written to a cache costs as much as other
 * input.
 */
function openai(model: string, input: number, output: number, cacheRead: number): ModelPrice {
  return { model, input, output, cacheRead, cacheWrite: input };
}

function openaiWithWrites(model: string, input: number, output: number, cacheRead: number): ModelPrice {
  return anthropic(model, input, output, cacheRead);
}

/**
 * Creates the prices of a Google model. Leaves out the hourly price of cache storage, because no response
 * reports that storage.
 */
function google(model: string, input: number, output: number, cacheRead: number): ModelPrice {
  return openai(model, input, output, cacheRead);
}
