import type { AgentChoice } from "../contract/tasks.ts";
import type { Settings } from "../settings/rules/settings.ts";

export type DefaultAgentSettings = Pick<Settings, "agent" | "agentCommand">;

/** Returns the default agent from the settings, for tasks that name no agent. */
export function defaultAgentFromSettings({ agent: kind, agentCommand }: DefaultAgentSettings): AgentChoice {
  const [script] = agentCommand;
  if (kind === "claude" || script === undefined) return { kind };
  return kind === "script" ? { kind, script } : { kind, command: agentCommand };
}

/**
 * Describes what is missing in the settings of the default agent, which runs the tasks that name no agent.
 * Returns null if nothing is missing.
 */
export function findAgentProblem({ agent: kind, agentCommand }: DefaultAgentSettings): string | null {
  if (kind === "script" && agentCommand.length !== 1)
    return "the agent kind script needs exactly one script below .aimi/: pass `--agent script -- script.json`, or set agentCommand in the settings";
  if ((kind === "command" || kind === "acp") && agentCommand.length === 0)
    return `the agent kind ${kind} needs a program: pass \`--agent ${kind} -- program arguments …\`, or set agentCommand in the settings`;
  return null;
}
