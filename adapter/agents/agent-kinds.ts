import { acpAgent } from "./acp-agent.ts";
import type { Agent } from "./agent.ts";
import { claudeAgent } from "./claude-agent.ts";
import { commandAgent } from "./command-agent.ts";
import { scriptAgent } from "./script-agent.ts";

/** All supported kinds of agents. To add a kind, add a file to this folder and an entry to this list. */
const agents: readonly Agent[] = [claudeAgent, acpAgent, commandAgent, scriptAgent];

export const agentKinds: readonly string[] = agents.map(({ kind }) => kind);

export function findAgent(kind: string): Agent | null {
  return agents.find((agent) => agent.kind === kind) ?? null;
}
