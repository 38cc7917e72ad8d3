import type { AgentChoice } from "./generated/tasks.ts";

/**
 * Returns the agent with the model for this attempt. The entries of `ladder`, each `model=NAME`, apply to the
 * second attempt, the third and so on. The last entry applies to all further attempts, too.
 */
export function agentForAttempt(agent: AgentChoice, ladder: readonly string[], attempt: number): AgentChoice {
  const word = ladder[Math.min(attempt - 2, ladder.length - 1)];
  const [, model] = /^model=(.+)$/.exec(word ?? "") ?? [];
  return model === undefined ? agent : { ...agent, model };
}
