import type { TerminalSize } from "../../engine/containers.ts";
import type { Project } from "../../project/project.ts";
import {
  type AgentSession,
  type AgentTerminalOptions,
  openAgentTerminal,
} from "../../sandbox/command/agent-shell.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import type { ContainerRecord } from "../../state/rules/swarm-state.ts";
import { findRunningContainer } from "./find-running-container.ts";

/** Opens a terminal session in the sandbox of a running worker, as the same Linux user as the agent. */
export async function openWorkerTerminal(
  project: StateAccess & Pick<Project, "host">,
  worker: ContainerRecord,
  options: TerminalSize & Omit<AgentTerminalOptions, "term">,
  signal: AbortSignal,
): Promise<AgentSession> {
  const state = await requireSwarmState(project);
  const container = await findRunningContainer(project.engines, state, worker, signal);
  const term = project.host.env["TERM"] ?? "";
  // Replaces TERM if it is no valid name of a terminal, because it is passed into the container.
  const known = { ...options, term: /^[\w.+-]{1,50}$/.test(term) ? term : "dumb" };
  return openAgentTerminal(container, known, signal);
}
