import { createHash, createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { gatewayEnvironment } from "../agents/gateway-environment.ts";
import { nonSecretVariablesOf, planEndpoints } from "../agents/model-endpoints.ts";
import type { Mirror, ModelEndpoint } from "../contract/gateway.ts";
import type { ContainerRecord } from "../contract/swarm-state.ts";
import { defaultRegistryUrls, parseAllowList } from "../egress/allow-list.ts";
import { planMirrors } from "../egress/plan-mirrors.ts";
import { defaultSubnets, isSubnetRange } from "../egress/worker-subnets.ts";
import type { ConnectedEngine } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { GatewayDeps, WorkerToAdmit } from "../gateway/gateway-deps.ts";
import type { SwarmGateway } from "../gateway/supervise-gateway.ts";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import type { TaskRequestStore } from "../swarm/worker/task-request-store.ts";
import { agentOfTask, type WorkerTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { withDefaultPrices } from "../usage/model-prices.ts";

export interface SwarmGatewayDeps
  extends Pick<
    GatewayDeps,
    | "swarmId"
    | "projectId"
    | "worktree"
    | "image"
    | "runtime"
    | "read"
    | "change"
    | "update"
    | "emit"
    | "clock"
    | "signal"
  > {
  readonly env: EnvironmentVariables;
  readonly folders: UserFolders;
  readonly engine: ConnectedEngine;
  readonly runtimes: readonly string[];
  readonly settings: Settings;
  /** The root folder of this worktree. */
  readonly root: string;
  readonly gitFolder: string;
  readonly onWarning: (warning: string) => void;
  /**
   * Finds the task of the given worker, in a stored task request or in the task file. Returns null if
   * neither can be read.
   */
  readonly recall: (record: ContainerRecord) => Promise<WorkerTask | null>;
}

/**
 * Creates the supervisor of a swarm's gateway. The supervisor creates the gateway's container when the first
 * worker needs it.
 */
export async function createSwarmGateway(parts: SwarmGatewayDeps): Promise<SwarmGateway> {
  const [
    { connectToGateway },
    { openTaskRequestStore },
    { systemClockAndRandom },
    { readLocalRoutes },
    { findGatewayMessageProblem },
    { superviseGateway },
    { pauseWorkerForRateLimit },
  ] = await Promise.all([
    import("../gateway/connect-to-gateway.ts"),
    import("../swarm/worker/task-request-store.ts"),
    import("../protocol/clock-and-random.ts"),
    import("../gateway/parse-routes.ts"),
    import("../schema/find-gateway-problem.ts"),
    import("../gateway/supervise-gateway.ts"),
    import("../swarm/rate-limit-pauses.ts"),
  ]);
  const { env, settings, engine, swarmId, root, gitFolder } = parts;
  const { containers, networks, volumes } = engine;
  const files = openTaskRequestStore(gitFolder, swarmId);
  const secrets = await secretReader(parts);
  const line = {
    ...{ containers, timing: systemClockAndRandom, findProblem: findGatewayMessageProblem },
    journalFile: join(root, ".aimi", "swarms", swarmId, "gateway.ndjson"),
  };
  return superviseGateway({
    ...parts,
    ...{ containers, networks, volumes, routes: readLocalRoutes },
    // The gateway uses a runtime of its own: the owner adds networks to the running container, and not every
    // runtime supports that.
    ownRuntime: parts.runtimes.includes("runc") ? "runc" : "crun",
    connect: (container, listener, signal) => connectToGateway(line, container, listener, signal),
    record: { find: () => files.findGateway(), keep: (note) => files.storeGateway(note) },
    workersAtWork: () => findWorkersAtWork(parts, files),
    newSecret: () => randomBytes(32).toString("base64url"),
    sign: (secret, text) => createHmac("sha256", secret).update(text).digest("base64url"),
    hash: (text) => createHash("sha256").update(text).digest("hex"),
    planEndpoints: (agents) => planEndpoints(agents, settings, env).endpoints,
    resolve: secrets.endpoints,
    mirrors: secrets.mirrors,
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
    pause: (name, until) => pauseWorkerForRateLimit({ ...parts, containers }, name, until),
    storeLogin: secrets.storeLogin,
    range: subnetRange(env),
  });
}

/**
 * Finds the unfinished workers that have a container. Each worker is returned with its task, and with the
 * task request that swarm wrote for its adapter.
 */
async function findWorkersAtWork(
  { read, recall }: Pick<SwarmGatewayDeps, "read" | "recall">,
  { findRequest }: Pick<TaskRequestStore, "findRequest">,
): Promise<WorkerToAdmit[]> {
  const found: WorkerToAdmit[] = [];
  for (const record of (await read()).containers) {
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

type SecretReader = Pick<GatewayDeps, "mirrors" | "storeLogin"> & {
  readonly endpoints: GatewayDeps["resolve"];
};

/**
 * Creates a reader of secrets such as API keys. The reader resolves each reference to a secret only once,
 * and stores the secrets in memory only.
 */
async function secretReader({ env, folders, settings, onWarning }: SwarmGatewayDeps): Promise<SecretReader> {
  const [
    { readSecret },
    { createSecretProgramRunner },
    { resolveModelEndpoint, resolveEndpointHeaders },
    { writeRenewedLogin },
  ] = await Promise.all([
    import("../secrets/read-secret.ts"),
    import("../secrets/secret-program.ts"),
    import("../gateway/resolve-endpoint.ts"),
    import("../secrets/claude-login.ts"),
  ]);
  const { home } = folders;
  const run = createSecretProgramRunner();
  const known = new Map<string, Promise<string>>();
  const read = (reference: string): Promise<string> => {
    const secret = known.get(reference) ?? readSecret(reference, { env, home, run, onWarning });
    known.set(reference, secret);
    // Forgets a failed read, so that the next call reads again: the user may have fixed the cause.
    secret.catch(() => known.delete(reference));
    return secret;
  };
  return {
    async endpoints(plans) {
      const resolved: ModelEndpoint[] = [];
      // Resolves one endpoint after another, because the program that provides a secret may ask the user.
      for (const plan of plans) resolved.push(await resolveModelEndpoint(plan, read));
      return resolved;
    },
    async mirrors() {
      const mirrors: Mirror[] = [];
      // Gives the gateway all mirrors. Which of them a worker may read is decided when the gateway admits the
      // worker.
      for (const { name, url, headers } of planMirrors(Object.keys(defaultRegistryUrls), settings.registries))
        mirrors.push({ name, url, headers: await resolveEndpointHeaders(headers, read) });
      return mirrors;
    },
    storeLogin(reference, login) {
      writeRenewedLogin(reference, login, { home }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        onWarning(`The renewed login could not be written to its credential file: ${why}`);
      });
    },
  };
}
