import { longestBeginning } from "./model-name.ts";

/** By how much a call is dearer than its model's price. */
export interface LongPromptFactors {
  /** For all that was read or written to a cache. */
  readonly prompt: number;
  readonly answer: number;
}

interface LongPrompts extends LongPromptFactors {
  readonly model: string;
  /** Prompts with more tokens than this are dearer, from their first. */
  readonly above: number;
}

const double = { prompt: 2, answer: 1.5 };

/** Here rather than in the prices, so that it holds for a user's own price, too. */
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

/** Some models cost more by the token when they are asked much at once. */
export function longPromptFactors(model: string, promptTokens: number): LongPromptFactors {
  const long = longestBeginning(longPrompts, model);
  return long !== undefined && promptTokens > long.above ? long : { prompt: 1, answer: 1 };
}
