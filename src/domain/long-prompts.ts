import { findByLongestModelPrefix } from "./model-name.ts";

/** The factors by which a call with a long prompt costs more than the model's usual price. */
export interface LongPromptFactors {
  /** The factor for the price of all input tokens, including those read from a cache or written to a cache. */
  readonly prompt: number;
  readonly answer: number;
}

interface LongPrompts extends LongPromptFactors {
  readonly model: string;
  /** If a prompt has more than this number of tokens, the factors apply to all tokens of the call. */
  readonly above: number;
}

const double = { prompt: 2, answer: 1.5 };

/**
 * Models that cost more with long prompts. The factors are not part of the prices, so that they also apply to
 * prices that the user sets.
 */
const longPrompts: readonly LongPrompts[] = [
  { model: "claude-haiku-5-5", above: 100_000, prompt: 5, answer: 5 },
  { model: "claude-sonnet-4-2", above: 200_000, ...double },
  { model: "claude-sonnet-4-0", above: 200_000, ...double },
  { model: "claude-sonnet-4-5", above: 200_000, ...double },
  { model: "gpt-6", above: 272_000, ...double },
  { model: "gpt-5.4", above: 272_000, ...double },
  { model: "gpt-5.5", above: 272_000, ...double },
  { model: "gpt-5.6", above: 272_000, ...double },
  { model: "gemini-2.5-pro", above: 200_000, ...double },
  { model: "gemini-3-pro", above: 200_000, ...double },
  { model: "gemini-3.1-pro", above: 200_000, ...double },
];

/** Returns the factors for the price of a call. Both are 1 if the model's usual price applies. */
export function longPromptFactors(model: string, promptTokens: number): LongPromptFactors {
  const long = findByLongestModelPrefix(longPrompts, model);
  return long !== undefined && promptTokens > long.above ? long : { prompt: 1, answer: 1 };
}
