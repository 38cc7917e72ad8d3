import { freeSubnets, parseWorkerSubnet, type WorkerSubnet } from "../egress/worker-subnets.ts";
import { labels } from "../engine/engine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Worker } from "../swarm/worker/worker.ts";
import { gatewayLabels } from "./ensure-gateway.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { readLocalRoutes } from "./parse-routes.ts";
import { gatewayNames, workerNetworkName } from "./rules/gateway-names.ts";

/** The networks of a swarm's workers. Each network has two members: one worker and the gateway. */
export interface WorkerNetworks {
  /**
   * Finds or creates the network of a worker, and connects the gateway to this network. Returns the addresses
   * of the worker and the gateway there.
   */
  open(worker: Pick<Worker, "name" | "task">, signal: AbortSignal): Promise<WorkerSubnet>;
  /**
   * Finds the existing network of a worker; null if there is none. Does not connect the gateway to this
   * network; `reconnect` does.
   */
  find(worker: Pick<Worker, "name">, signal: AbortSignal): Promise<WorkerSubnet | null>;
  close(worker: Pick<Worker, "name">, signal: AbortSignal): Promise<void>;
  /**
   * Connects the gateway to every network that an earlier call of `open` or `find` returned and that `close`
   * has not closed.
   */
  reconnect(signal: AbortSignal): Promise<void>;
}

export function workerNetworks({
  swarm,
  sandboxes,
}: Pick<GatewayDeps, "swarm" | "sandboxes">): WorkerNetworks {
  const { networks, subnetRange } = sandboxes;
  const gateway = gatewayNames(swarm).container;
  const openByName = new Map<string, WorkerSubnet>();
  // The last call of `open`, so that calls run one after the other. Two concurrent calls would choose the
  // same subnet.
  let turn: Promise<unknown> = Promise.resolve();

  async function find(name: string, signal: AbortSignal): Promise<WorkerSubnet | null> {
    const found = (await networks.subnets(signal)).find((network) => network.name === name);
    return found ? parseWorkerSubnet(found.subnet) : null;
  }

  async function make(worker: Pick<Worker, "name" | "task">, signal: AbortSignal): Promise<WorkerSubnet> {
    const name = workerNetworkName(worker.name);
    const marks = {
      ...gatewayLabels(swarm),
      [labels.role]: "worker",
      [labels.taskFile]: worker.task.path,
    };
    const taken = (await networks.subnets(signal)).map(({ subnet }) => subnet);
    // The subnets that this machine already uses.
    const others = await readLocalRoutes();
    for (const free of freeSubnets(subnetRange, [...taken, ...others])) {
      try {
        await networks.create({ name, labels: marks, internal: true, subnet: free.subnet }, signal);
        return free;
      } catch (error) {
        // Another process has taken the subnet meanwhile, so the next free subnet is tried.
        if (!isError(error, "SUBNET_TAKEN")) throw error;
      }
    }
    throw new SwarmError("SUBNET_TAKEN", { subnet: subnetRange });
  }

  return {
    open(worker, signal) {
      const opened = turn.then(async () => {
        const name = workerNetworkName(worker.name);
        const subnet = (await find(name, signal)) ?? (await make(worker, signal));
        openByName.set(name, subnet);
        await networks.connect(name, gateway, subnet.gateway, signal);
        return subnet;
      });
      turn = opened.catch(() => {});
      return opened;
    },
    async find({ name: worker }, signal) {
      const name = workerNetworkName(worker);
      const subnet = await find(name, signal);
      if (subnet !== null) openByName.set(name, subnet);
      return subnet;
    },
    async close({ name: worker }, signal) {
      const name = workerNetworkName(worker);
      openByName.delete(name);
      await networks.remove(name, signal);
    },
    async reconnect(signal) {
      for (const [name, subnet] of openByName) await networks.connect(name, gateway, subnet.gateway, signal);
    },
  };
}
