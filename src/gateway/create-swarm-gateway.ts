import { createHash, createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { gatewayEnvironment } from "../agents/gateway-environment.ts";
import { nonSecretVariablesOf, planEndpoints } from "../agents/model-endpoints.ts";
import { parseAllowList } from "../egress/allow-list.ts";
import { defaultSubnets, isSubnetRange } from "../egress/worker-subnets.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import { SwarmError } from "../errors/errors.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { Project } from "../project/project.ts";
import { systemClockAndRandom } from "../protocol/clock-and-random.ts";
import { findGatewayMessageProblem } from "../schema/find-gateway-problem.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import type { StateStore } from "../state/state-store-port.ts";
import { pauseWorkerForRateLimit } from "../swarm/worker/pause-for-rate-limit.ts";
import { openTaskRequestStore, type TaskRequestStore } from "../swarm/worker/task-request-store.ts";
import { agentOfTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { withDefaultPrices } from "../usage/model-prices.ts";
import { connectToGateway } from "./connect-to-gateway.ts";
import type { WorkerToAdmit } from "./gateway-deps.ts";
import { readLocalRoutes } from "./parse-routes.ts";
import { createGatewaySecrets } from "./read-gateway-secrets.ts";
import { type SwarmGateway, superviseGateway } from "./supervise-gateway.ts";
import type { NetworkOwner, SwarmOnNetwork } from "./swarm-on-network.ts";

/**
 * Creates the supervisor of a swarm's gateway. The supervisor creates the gateway's container when the first
 * worker needs it.
 */
export async function createSwarmGateway(
  project: Pick<Project, "host" | "repository" | "state">,
  { state, engine, runtime, runtimes, settings }: SwarmOnNetwork,
  { change, update, emit, signal, onStep, recall }: NetworkOwner,
): Promise<SwarmGateway> {
  const { env, clock } = project.host;
  const { root, gitFolder, worktree } = await project.repository();
  const { containers, networks, volumes } = await engine.open();
  const store = await project.state.store();
  const files = openTaskRequestStore(gitFolder, state.swarmId);
  const connection = {
    containers,
    timing: systemClockAndRandom,
    findProblem: findGatewayMessageProblem,
    journalFile: join(root, ".aimi", "swarms", state.swarmId, "gateway.ndjson"),
  };
  const read = () => store.read();
  return superviseGateway({
    ...createGatewaySecrets(project, settings, onStep),
    swarmId: state.swarmId,
    projectId: state.project.id,
    worktree,
    containers,
    networks,
    volumes,
    image: () => baseImage,
    runtime,
    // The gateway uses a runtime of its own: the owner adds networks to the running container, and not every
    // runtime supports that.
    ownRuntime: runtimes.includes("runc") ? "runc" : "crun",
    routes: readLocalRoutes,
    connect: (container, listener, ending) => connectToGateway(connection, container, listener, ending),
    record: { find: () => files.findGateway(), keep: (note) => files.storeGateway(note) },
    workersAtWork: () => findWorkersAtWork(store, recall, files),
    newSecret: () => randomBytes(32).toString("base64url"),
    sign: (secret, text) => createHmac("sha256", secret).update(text).digest("base64url"),
    hash: (text) => createHash("sha256").update(text).digest("hex"),
    planEndpoints: (agents) => planEndpoints(agents, settings, env).endpoints,
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
    pause: (name, until) =>
      pauseWorkerForRateLimit({ containers, read, change, emit, clock, signal }, name, until),
    range: subnetRange(env),
    read,
    change,
    update,
    emit,
    clock,
    signal,
  });
}

/**
 * Finds the unfinished workers that have a container. Each worker is returned with its task, and with the
 * task request that swarm wrote for its adapter.
 */
async function findWorkersAtWork(
  store: Pick<StateStore, "read">,
  recall: NetworkOwner["recall"],
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
