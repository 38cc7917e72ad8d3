import type { AgentChoice } from "./generated/tasks.ts";

/**
 * Returns the agent for an attempt, with the attempt's model. The first entry of `ladder` is for the second attempt, the
 * next one for the third, and the last one for all further attempts. An entry is `model=NAME`.
 */
export function agentForAttempt(agent: AgentChoice, ladder: readonly string[], attempt: number): AgentChoice {
  const word = ladder[Math.min(attempt - 2, ladder.length - 1)];
  const [, model] = /^model=(.+)$/.exec(word ?? "") ?? [];
  return model === undefined ? agent : { ...agent, model };
}
