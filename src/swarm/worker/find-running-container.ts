import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { Containers, TerminalSize } from "../../engine/containers.ts";
import { labels } from "../../engine/engine.ts";
import type { Engines } from "../../engine/engines.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { Project } from "../../project/project.ts";
import { followAdapterLog } from "../../protocol/follow-adapter-log.ts";
import {
  type AgentSession,
  type AgentTerminalOptions,
  openAgentTerminal,
  runCommandAsAgentUser,
} from "../../sandbox/command/agent-shell.ts";
import type { CommandRequest, CommandResult } from "../../sandbox/command/run-command.ts";
import { refuseOtherEngine } from "../../state/compare-state-with-engine.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import { workerSlug } from "../../text/slugs.ts";

export interface RunningWorkerContainer {
  readonly containers: Containers;
  readonly containerId: string;
}

/**
 * Finds the running container of a worker, on the engine that the swarm's state names. Throws
 * CONTAINER_NOT_RUNNING, with advice for the user, if the container does not run.
 */
export async function findRunningContainer(
  engines: Pick<Engines, "recorded">,
  state: SwarmState,
  record: ContainerRecord,
  signal: AbortSignal,
): Promise<RunningWorkerContainer> {
  const { containerName: id } = record;
  const slug = workerSlug(record);
  const refuse = (was: string): never => {
    const instead =
      was === "paused"
        ? `\`swarm unpause ${slug}\` continues the worker; \`swarm logs ${slug}\` shows the worker's log.`
        : `\`swarm logs ${slug}\` shows the worker's log.`;
    throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: was, instead });
  };
  if (state.engine === null) return refuse("not created yet");
  const { endpoint } = state.engine;
  const engine = await engines.recorded(endpoint);
  if (engine === null) throw new SwarmError("ENGINE_UNREACHABLE", { tried: [endpoint] });
  await refuseOtherEngine(state, engine);
  const { containers } = await engine.open(signal);
  const facts = await containers.inspect(id, undefined, signal);
  if (facts === null) return refuse(record.status === "pending" ? "not created yet" : "removed");
  const isOurs =
    facts.labels[labels.project] === state.project.id && facts.labels[labels.swarm] === state.swarmId;
  if (!isOurs) return refuse("unknown, because another container has this name");
  if (facts.state !== "running") return refuse(facts.state);
  return { containers, containerId: facts.id };
}

/** Yields the last log lines of a running worker's adapter, then its new lines until the container ends. */
export async function* followWorkerLog(
  project: StateAccess,
  worker: ContainerRecord,
  { last }: { readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { containers, containerId } = await containerOf(project, worker, signal);
  yield* followAdapterLog(containers, { containerId, last }, signal);
}

/** Runs a command, without a terminal, in the sandbox of a running worker. */
export async function runCommandInWorker(
  project: StateAccess,
  worker: ContainerRecord,
  request: Pick<CommandRequest, "command" | "input" | "onOutput">,
  signal: AbortSignal,
): Promise<CommandResult> {
  return runCommandAsAgentUser(await containerOf(project, worker, signal), request, signal);
}

/** Opens a terminal session in the sandbox of a running worker, as the same Linux user as the agent. */
export async function openWorkerTerminal(
  project: StateAccess & Pick<Project, "host">,
  worker: ContainerRecord,
  options: TerminalSize & Omit<AgentTerminalOptions, "term">,
  signal: AbortSignal,
): Promise<AgentSession> {
  const container = await containerOf(project, worker, signal);
  const term = project.host.env["TERM"] ?? "";
  // Replaces TERM if it is no valid name of a terminal, because it is passed into the container.
  const known = { ...options, term: /^[\w.+-]{1,50}$/.test(term) ? term : "dumb" };
  return openAgentTerminal(container, known, signal);
}

async function containerOf(
  project: StateAccess,
  worker: ContainerRecord,
  signal: AbortSignal,
): Promise<RunningWorkerContainer> {
  return findRunningContainer(project.engines, await requireSwarmState(project), worker, signal);
}
