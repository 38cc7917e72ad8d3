import type { AgentChoice } from "./generated/tasks.ts";

/** The agent of an attempt. From the second attempt on, each takes the ladder's next word; the last word stays. */
export function agentForAttempt(agent: AgentChoice, ladder: readonly string[], attempt: number): AgentChoice {
  const word = ladder[Math.min(attempt - 2, ladder.length - 1)];
  const [, model] = /^model=(.+)$/.exec(word ?? "") ?? [];
  return model === undefined ? agent : { ...agent, model };
}
