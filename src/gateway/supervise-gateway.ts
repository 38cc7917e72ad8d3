import type { WorkerSubnet } from "../egress/worker-subnets.ts";
import { isError } from "../errors/errors.ts";
import type { NetworkAccess, NetworkConnection } from "../swarm/worker/network-access.ts";
import { GatewayAdmissions } from "./gateway-admissions.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { gatewayNames, workerNetworkName } from "./rules/gateway-names.ts";
import { type RunningGateway, startGateway } from "./start-gateway.ts";
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

const settleMs = 5_000;

/**
 * Supervises the gateway of a swarm: starts it when the first worker needs it, and creates its container
 * again if the container disappears.
 */
export function superviseGateway(deps: GatewayDeps): SwarmGateway {
  const { signal } = deps.time;
  const { containers, volumes } = deps.sandboxes;
  const { container, journalVolume, socketVolume } = gatewayNames(deps.swarm);
  const networks = workerNetworks(deps);
  const models = createSwarmModelEndpoints(deps);
  const usage = trackGatewayUsage(deps, models.isHost);
  const admissions = new GatewayAdmissions(deps.policy, models, usage.budgets);
  let gateway: RunningGateway | null = null;
  let starting: Promise<RunningGateway> | null = null;

  return {
    async open(worker) {
      const rights = await admissions.rightsOf(worker);
      if (rights === null) return { network: { kind: "none" }, volumes: [], env: {} };
      const { record, handOver } = await ensureStarted();
      const subnet = record.road === "network" ? await networks.open(worker, signal) : null;
      admissions.add(worker, rights, record, subnet);
      await handOver();
      return subnet === null ? throughSocket(socketVolume) : throughNetwork(worker.name, subnet);
    },

    async waitForRecords() {
      if (gateway === null) return;
      // If the gateway does not answer in time, it reports the rest at the next hand-over.
      const within = AbortSignal.any([signal, AbortSignal.timeout(settleMs)]);
      await gateway.receiveEntries(within).catch(() => {});
      await usage.written();
    },

    async close(worker, { isGone }) {
      if (admissions.remove(worker.slug)) await gateway?.handOver(settleMs).catch(() => {});
      // Closes the network even if this owner has not admitted the worker: an earlier owner may have.
      if (isGone && gateway?.record.road !== "socket") await networks.close(worker, signal);
    },

    environment: (worker) => gateway && admissions.environment(worker, gateway.record),
    accessEnded: (slug) => usage.budgets.accessEnded(slug),
    limitedUntil: ({ task }) => usage.limitedUntil(models.namesOf(deps.policy.agentOf(task))),

    async end({ isFinished }) {
      const isThere = (await containers.inspect(container, undefined, signal)) !== null;
      if (starting === null && !isThere) return;
      await release();
      await containers.remove(container, signal);
      if (isFinished) await volumes.remove(journalVolume, signal);
      // Tolerates a socket volume in use: sandboxes that are kept for inspection still mount it.
      await volumes.remove(socketVolume, signal).catch((error: unknown) => {
        if (!isError(error, "ENGINE_FAILED")) throw error;
      });
      deps.events.emit({ event: "gateway", status: "removed" });
    },

    release,
  };

  async function release(): Promise<void> {
    const held = gateway ?? (await starting?.catch(() => null));
    await held?.[Symbol.asyncDispose]();
    await usage.written();
  }

  /**
   * Starts the gateway once, even if several callers ask for it. After a failed start, the next caller starts
   * it again.
   */
  function ensureStarted(): Promise<RunningGateway> {
    starting ??= startGateway(deps, { models, usage, networks, admissions }).then(
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
}

function throughSocket(volume: string): NetworkConnection {
  return {
    network: { kind: "none" },
    volumes: [{ name: volume, path: "/door", readOnly: true }],
    env: { AIMI_DOOR: "/door/door.sock" },
  };
}

function throughNetwork(name: string, { worker, gateway }: WorkerSubnet): NetworkConnection {
  return {
    network: { kind: "named", name: workerNetworkName(name), address: worker },
    volumes: [],
    // No name server listens at the gateway's address, so name lookups in the sandbox fail.
    nameServer: gateway,
    env: {},
  };
}
