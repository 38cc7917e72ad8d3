import { type AgentAccessSettings, createAgentAccessReport } from "../agents/agent-access-report.ts";
import { type AgentSpec, agentVariableValues, findAgentPackageKey } from "../agents/agent-credentials.ts";
import type { TaskRequestPayload } from "../contract/acp.ts";
import { needsModelApi, parseWorkerNetwork } from "../egress/worker-network.ts";
import type { ContainerNetwork } from "../engine/containers.ts";
import type { Networks } from "../engine/networks.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { settingsOfSwarm } from "../swarm/worker/swarm-settings.ts";
import { openTaskRequestStore } from "../swarm/worker/task-request-store.ts";
import type { WorkerChannel } from "../swarm/worker/worker-channel-port.ts";
import { readAcceptedTask } from "../tasks/load-tasks.ts";
import { agentOfTask, type LoadedTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";

export interface AgentAccessDeps {
  readonly settings: Pick<Settings, "agent" | "agentCommand"> & AgentAccessSettings;
  /** The environment variables of the `swarm` command that the user runs. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly requestsOf: (swarmId: string) => Pick<WorkerChannel, "findRequest">;
  readonly loadTask: (path: string) => Promise<LoadedTask | null>;
}

/** An agent that the owner is going to start or continue, and the path of its task file. */
export interface AgentToRun {
  readonly file: string;
  readonly agent: AgentSpec;
  /** The hosts that the task file allows the agent to reach. */
  readonly allow: readonly string[];
}

/** Decides how a swarm's agents reach their models: which network and which credentials they get. */
export interface AgentAccess {
  /**
   * Returns the agents that the owner is going to run: for new tasks, for workers in the state that have not
   * ended, and for workers that the user retries.
   */
  findAgentsToStart(
    works: readonly { readonly task: LoadedTask }[],
    state: SwarmState | null,
    retried: readonly string[],
  ): Promise<AgentToRun[]>;
  /**
   * Throws if one of the given agents has no network to reach its model, or no credentials. Call it before
   * any worker starts.
   */
  refuse(due: readonly AgentToRun[]): void;
  /**
   * Returns lines for the user about the network access and credentials that the agents get. The lines
   * contain the names of environment variables, but never their values.
   */
  describe(due: readonly AgentToRun[]): readonly string[];
  /** Returns the keys of the agent packages that the base image must contain for the given agents. */
  inImage(due: readonly AgentToRun[]): string[];
  /**
   * Returns the network that the settings choose for workers. Throws INVALID_VALUE if the engine has no
   * network of exactly that name.
   */
  network(networks: Pick<Networks, "names">, signal: AbortSignal): Promise<ContainerNetwork>;
  /**
   * Returns the environment variables with the credentials for the agent that a task request names; null if
   * there are none. The owner reads them each time that it connects to the worker, and never stores them.
   */
  credentials(request: TaskRequestPayload): Readonly<Record<string, string>> | null;
}

/**
 * Returns how the agents reach their models under these settings. If `settings` is null, uses the settings of
 * a new swarm.
 */
export async function modelAccess(
  project: Pick<Project, "host" | "repository" | "settings" | "tasks">,
  settings: AgentAccessDeps["settings"] | null,
): Promise<AgentAccess> {
  const { gitFolder } = await project.repository();
  return agentAccess({
    settings: settings ?? (await settingsOfSwarm(project, null)),
    env: project.host.env,
    requestsOf: (swarmId) => openTaskRequestStore(gitFolder, swarmId),
    loadTask: async (path) => readAcceptedTask(await project.tasks.folder(), path),
  });
}

export function agentAccess({ settings, env, requestsOf, loadTask }: AgentAccessDeps): AgentAccess {
  return {
    async findAgentsToStart(works, state, retried) {
      const due: AgentToRun[] = works.map(({ task }) => ({
        file: task.path,
        agent: agentOfTask(task, settings),
        allow: allowIn(task),
      }));
      for (const record of state?.containers ?? []) {
        const { taskFilePath: file, containerName, status, attempt } = record;
        if (isTerminalStatus(status) && !retried.includes(containerName)) continue;
        const at = { slug: workerSlug(record), attempt };
        // If the attempt has a stored request, its agent wins over the current task file and flags: the
        // attempt continues as it began.
        const request =
          state && !isTerminalStatus(status) && (await requestsOf(state.swarmId).findRequest(at));
        const task = await loadTask(file);
        const agent = request ? request.agent : task && agentOfTask(task, settings);
        if (agent) due.push({ file, agent, allow: task === null ? [] : allowIn(task) });
      }
      return due;
    },

    refuse(due) {
      for (const { file, agent } of due) {
        if (settings.network === "none" && needsModelApi(agent.kind))
          throw new SwarmError("AGENT_NEEDS_NETWORK", { kind: agent.kind, file });
        const { missing, problems } = createAgentAccessReport([agent], [], settings, env);
        for (const { agent: name, variables } of missing)
          throw new SwarmError("CREDENTIALS_MISSING", { agent: name, file, variables });
        for (const problem of problems) throw new SwarmError("INVALID_VALUE", problem);
      }
    },

    describe(due) {
      const agents = due.map(({ agent }) => agent);
      const allowed = due.flatMap(({ allow }) => allow);
      return createAgentAccessReport(agents, allowed, settings, env).lines;
    },

    inImage: (due) => [...new Set(due.flatMap(({ agent }) => findAgentPackageKey(agent) ?? []))],

    async network(networks, signal) {
      const network = parseWorkerNetwork(settings.network);
      if (network.kind === "gateway") return { kind: "none" };
      if (network.kind !== "named") return network;
      const names = await networks.names(signal);
      if (names.includes(network.name)) return network;
      const others = names.filter((name) => name !== "bridge").sort();
      throw new SwarmError("INVALID_VALUE", {
        name: "network",
        value: network.name,
        expected: ["gateway", "none", "bridge", ...others].join(", "),
      });
    },

    credentials: ({ agent }) => agentVariableValues(agent ?? { kind: "claude" }, env),
  };
}

function allowIn({ taskFile: { metadata } }: Pick<LoadedTask, "taskFile">): readonly string[] {
  return metadata.allow ?? [];
}
