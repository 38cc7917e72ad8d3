import type { AgentChoice } from "../contract/tasks.ts";

/**
 * Returns the agent with the model that it uses in the given attempt of a worker. The first entry of
 * `ladder`, such as `model=NAME`, applies to the second attempt, the next entry to the third, and so on. The
 * last entry applies to all later attempts.
 */
export function agentForAttempt(agent: AgentChoice, ladder: readonly string[], attempt: number): AgentChoice {
  const word = ladder[Math.min(attempt - 2, ladder.length - 1)];
  const [, model] = /^model=(.+)$/.exec(word ?? "") ?? [];
  return model === undefined ? agent : { ...agent, model };
}
