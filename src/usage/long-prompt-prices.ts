import { findByLongestModelPrefix } from "./model-prefix.ts";

/** The factors by which the price of a call rises above the model's usual price if the prompt is long. */
export interface LongPromptPriceFactors {
  /** The factor for all input tokens, including those that are read from a cache or written to a cache. */
  readonly prompt: number;
  readonly answer: number;
}

interface LongPrompts extends LongPromptPriceFactors {
  readonly models: readonly string[];
  /** The factors apply to all tokens of a call whose prompt has more than this number of tokens. */
  readonly above: number;
}

/**
 * The models whose price rises with long prompts. The factors are stored separately from the prices, so that
 * they also apply to prices that the user sets.
 */
const longPrompts: readonly LongPrompts[] = [
  { models: ["claude-haiku-5-5"], above: 100_000, prompt: 5, answer: 5 },
  {
    models: [
      "claude-sonnet-4-2",
      "claude-sonnet-4-0",
      "claude-sonnet-4-5",
      "gemini-2.5-pro",
      "gemini-3-pro",
      "gemini-3.1-pro",
    ],
    above: 200_000,
    prompt: 2,
    answer: 1.5,
  },
  { models: ["gpt-6", "gpt-5.4", "gpt-5.5", "gpt-5.6"], above: 272_000, prompt: 2, answer: 1.5 },
];
const longPromptOf = longPrompts.flatMap(({ models, ...long }) =>
  models.map((model) => ({ model, ...long })),
);

/**
 * Returns the price factors for a call with this number of prompt tokens. Both factors are 1 if the usual
 * price applies.
 */
export function longPromptPriceFactors(model: string, promptTokens: number): LongPromptPriceFactors {
  const long = findByLongestModelPrefix(longPromptOf, model);
  return long !== undefined && promptTokens > long.above ? long : { prompt: 1, answer: 1 };
}
