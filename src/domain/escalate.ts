import type { AgentChoice } from "./generated/tasks.ts";

/** The agent of an attempt: each word of a ladder is for one attempt from the second on, and the last one for all after it. */
export function escalated(agent: AgentChoice, ladder: readonly string[], attempt: number): AgentChoice {
  const word = ladder[Math.min(attempt - 2, ladder.length - 1)];
  const [, model] = /^model=(.+)$/.exec(word ?? "") ?? [];
  return model === undefined ? agent : { ...agent, model };
}
