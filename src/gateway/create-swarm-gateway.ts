import { join } from "node:path";
import { nonSecretVariablesOf } from "../agents/agent-credentials.ts";
import { gatewayEnvironment } from "../agents/gateway-environment.ts";
import { planEndpoints } from "../agents/model-endpoints.ts";
import { parseAllowList } from "../egress/allow-list.ts";
import { defaultSubnets, isSubnetRange } from "../egress/worker-subnets.ts";
import { SwarmError } from "../errors/errors.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { Project } from "../project/project.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { openTaskRequestStore, type TaskRequestStore } from "../swarm/worker/task-request-store.ts";
import { agentOfTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { withDefaultPrices } from "../usage/model-prices.ts";
import { connectToGateway } from "./connect-to-gateway.ts";
import type { GatewayPolicy, WorkerToAdmit } from "./gateway-deps.ts";
import { createGatewaySecrets } from "./read-gateway-secrets.ts";
import { gatewayNames } from "./rules/gateway-names.ts";
import { type SwarmGateway, superviseGateway } from "./supervise-gateway.ts";
import type { NetworkOwner, SwarmOnNetwork } from "./swarm-on-network.ts";

/**
 * Creates the supervisor of a swarm's gateway. The supervisor creates the gateway's container when the first
 * worker needs it.
 */
export async function createSwarmGateway(
  project: Pick<Project, "host" | "repository">,
  { state, engine, runtime, runtimes, settings }: SwarmOnNetwork,
  owner: NetworkOwner,
): Promise<SwarmGateway> {
  const { env, clock } = project.host;
  const { swarmId } = state;
  const { root, gitFolder, worktree } = await project.repository();
  const { containers, networks, volumes } = await engine.open();
  const files = openTaskRequestStore(gitFolder, swarmId);
  const swarm = { swarmId, projectId: state.project.id, worktree };
  const { container } = gatewayNames(swarm);
  const journalFile = join(root, ".aimi", "swarms", swarmId, "gateway.ndjson");
  return superviseGateway({
    swarm,
    store: owner.store,
    sandboxes: {
      canPause: engine.capabilities.pause,
      containers,
      networks,
      volumes,
      runtime,
      // The gateway uses a runtime of its own: the owner adds networks to the running container, and not every
      // runtime supports that.
      ownRuntime: runtimes.includes("runc") ? "runc" : "crun",
      subnetRange: subnetRange(env),
    },
    policy: gatewayPolicy(settings, env),
    secrets: createGatewaySecrets(project, settings, owner.onStep),
    connect: (listener) => connectToGateway({ containers, container, journalFile }, listener, owner.signal),
    record: { find: () => files.findGateway(), keep: (note) => files.storeGateway(note) },
    workersAtWork: () => findWorkersAtWork(owner, files),
    events: owner,
    time: { clock, signal: owner.signal },
  });
}

function gatewayPolicy(settings: Settings, env: EnvironmentVariables): GatewayPolicy {
  return {
    prices: withDefaultPrices(settings.prices),
    budget: { usd: settings.swarmBudgetUsd, tokens: settings.swarmBudgetTokens },
    rightsOf({ taskFile: { metadata } }) {
      const { hosts, mirrors } = parseAllowList([...settings.allow, ...(metadata.allow ?? [])]);
      const budget = { usd: metadata.budgetUsd ?? settings.budgetUsd, tokens: settings.budgetTokens };
      return { allow: hosts, mirrors, budget };
    },
    agentOf: (task) => agentOfTask(task, settings),
    environment: (agent, access) => ({
      ...nonSecretVariablesOf(agent, env),
      ...gatewayEnvironment(agent, access),
    }),
    planEndpoints: (agents) => planEndpoints(agents, settings, env).endpoints,
  };
}

/**
 * Finds the unfinished workers that have a container. Each worker is returned with its task, and with the
 * task request that swarm wrote for its adapter.
 */
async function findWorkersAtWork(
  { store, recall }: NetworkOwner,
  { findRequest }: Pick<TaskRequestStore, "findRequest">,
): Promise<WorkerToAdmit[]> {
  const found: WorkerToAdmit[] = [];
  for (const record of (await store.read()).containers) {
    if (record.containerId === null || isTerminalStatus(record.status)) continue;
    const slug = workerSlug(record);
    const [task, request] = [await recall(record), await findRequest({ slug, attempt: record.attempt })];
    if (task !== null && request !== null) found.push({ name: record.containerName, slug, task, request });
  }
  return found;
}

function subnetRange(env: EnvironmentVariables): string {
  const range = env["SWARM_SUBNETS"] ?? defaultSubnets;
  const expected = "a range of private IP addresses such as 10.214.0.0/16";
  if (!isSubnetRange(range))
    throw new SwarmError("INVALID_VALUE", { name: "SWARM_SUBNETS", value: range, expected });
  return range;
}
