import { runCommandAsAgentUser } from "../../sandbox/command/agent-shell.ts";
import type { CommandRequest, CommandResult } from "../../sandbox/command/run-command.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import type { ContainerRecord } from "../../state/rules/swarm-state.ts";
import { findRunningContainer } from "./find-running-container.ts";

/** Runs a command, without a terminal, in the sandbox of a running worker. */
export async function runCommandInWorker(
  project: StateAccess,
  worker: ContainerRecord,
  request: Pick<CommandRequest, "command" | "input" | "onOutput">,
  signal: AbortSignal,
): Promise<CommandResult> {
  const state = await requireSwarmState(project);
  return runCommandAsAgentUser(
    await findRunningContainer(project.engines, state, worker, signal),
    request,
    signal,
  );
}
