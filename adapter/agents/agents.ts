import { acp } from "./acp.ts";
import type { Agent } from "./agent.ts";
import { claude } from "./claude.ts";
import { command } from "./command.ts";
import { script } from "./script.ts";

/** All kinds of agents. A new kind needs a file in this folder, and an entry in this list. */
const agents: readonly Agent[] = [claude, acp, command, script];

export const agentKinds: readonly string[] = agents.map(({ kind }) => kind);

export function findAgent(kind: string): Agent | null {
  return agents.find((agent) => agent.kind === kind) ?? null;
}
