import { isError, SwarmError } from "../../domain/errors.ts";
import { gatewayNames, workerNetworkName } from "../../domain/gateway-names.ts";
import { freeSubnets, subnetAt, type WorkerSubnet } from "../../domain/worker-subnets.ts";
import { labels } from "../../ports/engine.ts";
import type { Worker } from "../swarm-deps.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { gatewayLabels } from "./stand-up-gateway.ts";

/** Networks in which a worker and the gateway are alone. */
export interface WorkerNetworks {
  /** The worker's own, made or found, with the gateway in it. */
  open(worker: Pick<Worker, "name" | "task">, signal: AbortSignal): Promise<WorkerSubnet>;
  /** The one that it has already; null where it has none. The gateway comes in when it is reconnected. */
  find(worker: Pick<Worker, "name">, signal: AbortSignal): Promise<WorkerSubnet | null>;
  close(worker: Pick<Worker, "name">, signal: AbortSignal): Promise<void>;
  /** Brings a new gateway into those that are open. */
  reconnect(signal: AbortSignal): Promise<void>;
}

export function workerNetworks(deps: GatewayDeps): WorkerNetworks {
  const { networks } = deps;
  const gateway = gatewayNames(deps).container;
  const openByName = new Map<string, WorkerSubnet>();
  // Two that choose at once would choose the same.
  let turn: Promise<unknown> = Promise.resolve();

  async function find(name: string, signal: AbortSignal): Promise<WorkerSubnet | null> {
    const found = (await networks.subnets(signal)).find((network) => network.name === name);
    return found ? subnetAt(found.subnet) : null;
  }

  async function make(worker: Pick<Worker, "name" | "task">, signal: AbortSignal): Promise<WorkerSubnet> {
    const name = workerNetworkName(worker.name);
    const marks = {
      ...gatewayLabels(deps),
      ...{ [labels.role]: "worker", [labels.taskFile]: worker.task.path },
    };
    const taken = (await networks.subnets(signal)).map(({ subnet }) => subnet);
    const others = await deps.routes();
    for (const free of freeSubnets(deps.range, [...taken, ...others])) {
      try {
        await networks.create({ name, labels: marks, internal: true, subnet: free.subnet }, signal);
        return free;
      } catch (error) {
        // Somebody else was quicker.
        if (!isError(error, "SUBNET_TAKEN")) throw error;
      }
    }
    throw new SwarmError("SUBNET_TAKEN", { subnet: deps.range });
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
