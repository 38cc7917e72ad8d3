import type { AgentSpec } from "../agents/agent-credentials.ts";
import type { AdmissionPayload, AdmittedWorker, GatewayHello } from "../contract/gateway.ts";
import { gatewayPort } from "../egress/gateway-port.ts";
import type { WorkerSubnet } from "../egress/worker-subnets.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { NetworkAccess, NetworkConnection } from "../swarm/worker/network-access.ts";
import type { Worker } from "../swarm/worker/worker.ts";
import { ensureGateway, probeGatewayTransport } from "./ensure-gateway.ts";
import type { GatewayConnection } from "./gateway-connection.ts";
import type {
  GatewayDeps,
  GatewayRecord,
  GatewayTransport,
  WorkerRights,
  WorkerToAdmit,
} from "./gateway-deps.ts";
import { gatewayNames, workerNetworkName } from "./rules/gateway-names.ts";
import { createSwarmModelEndpoints } from "./swarm-model-endpoints.ts";
import { trackGatewayUsage } from "./track-gateway-usage.ts";
import { workerNetworks } from "./worker-networks.ts";

/** With this interface, the owner uses the gateway of its swarm. */
export interface SwarmGateway extends NetworkAccess {
  /**
   * Removes the gateway's container. Removes the volume with the gateway's journal of spending only if all
   * workers have ended (`isFinished`).
   */
  end(how: { readonly isFinished: boolean }): Promise<void>;
  /** Closes the owner's connection to the gateway. The gateway continues to run. */
  release(): Promise<void>;
}

/** A running gateway, with the owner's connection to it and what swarm stores about it. */
interface RunningGateway {
  readonly connection: GatewayConnection;
  readonly record: GatewayRecord & { readonly road: GatewayTransport };
}

type WorkerAccess = WorkerRights & Pick<AdmittedWorker, "endpoints">;

const noNetwork: NetworkConnection = { network: { kind: "none" }, volumes: [], env: {} };

interface AdmittedAccess {
  readonly admitted: Omit<AdmittedWorker, "spent">;
  /** The URL at which the agent in the worker's sandbox reaches the gateway. */
  readonly url: string;
}

const admitMs = 60_000;
const settleMs = 5_000;
const loopbackUrl = `http://127.0.0.1:${gatewayPort}`;

/**
 * Supervises the gateway of a swarm: starts it when the first worker needs it, and creates its container
 * again if the container disappears.
 */
export function superviseGateway(deps: GatewayDeps): SwarmGateway {
  const names = gatewayNames(deps);
  const networks = workerNetworks(deps);
  const models = createSwarmModelEndpoints(deps);
  const usage = trackGatewayUsage(deps, models.isHost);
  const admittedBySlug = new Map<string, AdmittedAccess>();
  // The reason for the last loss of the connection to the gateway; null if the gateway answers.
  let lostBecause: string | null = null;
  let gateway: RunningGateway | null = null;
  let starting: Promise<RunningGateway> | null = null;
  let registries: AdmissionPayload["mirrors"] = [];
  const listener = {
    ...usage.listener,
    onHello(hello: GatewayHello): void {
      lostBecause = null;
      usage.listener.onHello(hello);
    },
    onLost(why: string): void {
      lostBecause = why;
      usage.listener.onLost(why);
    },
    onLogin: models.storeLogin,
    admission,
  };

  return {
    async open(worker) {
      const rights = await rightsOf(worker);
      if (rights === null) return noNetwork;
      const { record } = await ensureStarted();
      const subnet = record.road === "network" ? await networks.open(worker, deps.signal) : null;
      usage.watch(worker.slug, { name: worker.name, budget: rights.budget });
      admittedBySlug.set(worker.slug, accessOf(worker, rights, record, subnet));
      await admit();
      return networkOf(worker, subnet);
    },

    async waitForRecords() {
      if (gateway === null) return;
      // If the gateway does not answer in time, it reports the rest at the next hand-over.
      const within = AbortSignal.any([deps.signal, AbortSignal.timeout(settleMs)]);
      await gateway.connection.sendAdmission(within).catch(() => {});
      await usage.written();
    },

    async close(worker, { isGone }) {
      if (admittedBySlug.delete(worker.slug)) {
        usage.forget(worker.slug);
        await admit(settleMs).catch(() => {});
      }
      // Closes the network even if this owner has not admitted the worker: an earlier owner may have.
      if (isGone && gateway?.record.road !== "socket") await networks.close(worker, deps.signal);
    },

    environment(worker) {
      const known = admittedBySlug.get(worker.slug);
      if (known === undefined || gateway === null) return null;
      const { endpoints, mirrors } = known.admitted;
      return deps.environment(agentOf(worker), {
        ...{ url: known.url, token: tokenOf(gateway.record, worker), mirrors },
        endpoints: models.endpoints.filter(({ name }) => endpoints.includes(name)),
      });
    },

    accessEnded: usage.accessEnded,
    limitedUntil: ({ task }) => usage.limitedUntil(models.namesOf(deps.agentOf(task))),

    async end({ isFinished }) {
      const isThere = (await deps.containers.inspect(names.container, undefined, deps.signal)) !== null;
      if (starting === null && !isThere) return;
      await release();
      await deps.containers.remove(names.container, deps.signal);
      // Tolerates a socket volume in use: sandboxes that are kept for inspection still mount it.
      if (isFinished) await deps.volumes.remove(names.journalVolume, deps.signal);
      await deps.volumes.remove(names.socketVolume, deps.signal).catch(unlessInUse);
      deps.emit({ event: "gateway", status: "removed" });
    },

    release,
  };

  async function release(): Promise<void> {
    const held = gateway ?? (await starting?.catch(() => null));
    await held?.connection[Symbol.asyncDispose]();
    await usage.written();
  }

  /**
   * Starts the gateway once, even if several callers ask for it. After a failed start, the next caller starts
   * it again.
   */
  function ensureStarted(): Promise<RunningGateway> {
    starting ??= start().then(
      (begun) => {
        gateway = begun;
        return begun;
      },
      (error: unknown) => {
        starting = null;
        throw error;
      },
    );
    return starting;
  }

  async function start(): Promise<RunningGateway> {
    const [known, mirrors] = [await deps.record.find(), await deps.mirrors()];
    await usage.begin();
    const fresh = known ?? { secret: deps.newSecret(), road: null };
    const road = fresh.runtime === deps.runtime ? fresh.road : null;
    if (known === null) await deps.record.keep(fresh);
    // Starts the container here instead of in the connection: the connection would retry, but the caller
    // needs a first failure.
    await ensureRunning(deps.signal);
    if (known?.road) await readmitWorkers(known);
    registries = mirrors;
    const connection = deps.connect(names.container, { ...listener, ensureRunning }, deps.signal);
    try {
      await handOver(connection, admitMs);
      const found = road ?? (await probeGatewayTransport(deps, deps.signal));
      const record = { secret: fresh.secret, road: found, runtime: deps.runtime };
      if (road === null) await deps.record.keep(record);
      await deps.update((state) => ({ ...state, gateway: { road: found } }));
      deps.emit({ event: "gateway", status: "ready", road: found });
      return { connection, record };
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  async function ensureRunning(signal: AbortSignal): Promise<void> {
    try {
      await ensureGateway(deps, signal);
      // Connects the networks even if the gateway existed: an earlier owner may have crashed before it
      // connected them.
      await networks.reconnect(signal);
    } catch (error) {
      // The engine is still removing the old container. The connection's next attempt creates a new one.
      if (!isError(error, "NAME_TAKEN")) throw error;
    }
  }

  async function admit(ms = admitMs): Promise<void> {
    if (gateway !== null) await handOver(gateway.connection, ms);
  }

  async function handOver(connection: GatewayConnection, ms: number): Promise<void> {
    const timeout = AbortSignal.timeout(ms);
    try {
      await connection.sendAdmission(AbortSignal.any([deps.signal, timeout]));
    } catch (error) {
      if (!timeout.aborted || error !== timeout.reason) throw error;
      throw new SwarmError("GATEWAY_FAILED", { reason: lostBecause ?? "the gateway does not answer" });
    }
  }

  /**
   * Adds the workers that an earlier owner started to the list of workers that the gateway admits. The
   * gateway disconnects every worker that is not in the next list.
   */
  async function readmitWorkers(record: GatewayRecord): Promise<void> {
    for (const worker of await deps.workersAtWork()) {
      // Skips a worker if an expected error occurs, because `open` reports the error later.
      const rights = await rightsOf(worker).catch(unlessForeseen);
      if (!rights) continue;
      const subnet = record.road === "network" ? await networks.find(worker, deps.signal) : null;
      if (record.road === "network" && subnet === null) continue;
      usage.watch(worker.slug, { name: worker.name, budget: rights.budget });
      admittedBySlug.set(worker.slug, accessOf(worker, rights, record, subnet));
    }
  }

  /** Returns which models, registries and hosts a worker may reach; null if there are none. */
  async function rightsOf(worker: WorkerToAdmit): Promise<WorkerAccess | null> {
    const rights = deps.rightsOf(worker.task);
    await models.addAgent(agentOf(worker));
    const endpoints = models.namesOf(agentOf(worker));
    const isNothing = endpoints.length + rights.mirrors.length + rights.allow.length === 0;
    return isNothing ? null : { ...rights, endpoints };
  }

  function accessOf(
    worker: WorkerToAdmit,
    rights: WorkerAccess,
    record: GatewayRecord,
    subnet: WorkerSubnet | null,
  ): AdmittedAccess {
    const token = { worker: worker.slug, tokenSha256: deps.hash(tokenOf(record, worker)) };
    return {
      url: subnet === null ? loopbackUrl : `http://${subnet.gateway}:${gatewayPort}`,
      admitted: { ...token, address: subnet?.worker ?? null, ...rights },
    };
  }

  function admission(): AdmissionPayload {
    const { prices, budget } = deps;
    return {
      ...{ endpoints: models.endpoints, mirrors: registries, prices, budget, spent: usage.totalSpent() },
      workers: [...admittedBySlug.values()].map(({ admitted }) => ({
        ...{ ...admitted, spent: usage.spentBy(admitted.worker) },
      })),
    };
  }

  /**
   * Returns the token with which a worker identifies itself to the gateway. The token stays the same for all
   * attempts and all owners, because a running agent keeps the token that it received.
   */
  function tokenOf({ secret }: GatewayRecord, { slug }: Pick<Worker, "slug">): string {
    return deps.sign(secret, slug);
  }

  function networkOf(worker: Worker, subnet: WorkerSubnet | null): NetworkConnection {
    if (subnet === null)
      return {
        network: { kind: "none" },
        volumes: [{ name: names.socketVolume, path: "/door", readOnly: true }],
        env: { AIMI_DOOR: "/door/door.sock" },
      };
    const network = { kind: "named", name: workerNetworkName(worker.name), address: subnet.worker } as const;
    // No name server listens at the gateway's address, so name lookups in the sandbox fail.
    return { network, volumes: [], nameServer: subnet.gateway, env: {} };
  }
}

function unlessForeseen(error: unknown): null {
  if (!(error instanceof SwarmError)) throw error;
  return null;
}

function unlessInUse(error: unknown): void {
  if (!isError(error, "ENGINE_FAILED")) throw error;
}

function agentOf({ request }: Pick<Worker, "request">): AgentSpec {
  return request.agent ?? { kind: "claude" };
}
