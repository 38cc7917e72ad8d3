import type { ContainerNetwork, VolumeMount } from "../ports/containers.ts";
import type { Worker } from "./swarm-deps.ts";

/** The network connection of a worker's sandbox. */
export interface NetworkConnection {
  readonly network: ContainerNetwork;
  readonly volumes: readonly VolumeMount[];
  readonly nameServer?: string;
  /** Environment of the adapter, with the gateway socket that its loopback proxy forwards to. */
  readonly env: Readonly<Record<string, string>>;
}

/** The network access of a swarm's sandboxes. */
export interface NetworkAccess {
  /** Admits a worker to the gateway, and returns how its sandbox is connected. */
  open(worker: Worker): Promise<NetworkConnection>;
  /** Resolves when the worker's network activity is recorded, or the gateway does not answer in time. */
  settled(worker: Pick<Worker, "slug">): Promise<void>;
  /** Ends a worker's access. With `isGone` no container of the worker is left, so its network is removed too. */
  close(worker: Pick<Worker, "name" | "slug">, how: { readonly isGone: boolean }): Promise<void>;
  /** Variables for the agent's environment; read at each connection, never stored. */
  environment(worker: Worker): Readonly<Record<string, string>> | null;
  /** Aborted with a `Reason` when the worker's budget is used up. */
  accessEnded(slug: string): AbortSignal;
  /** The time, in milliseconds since 1970, until which the worker's model is rate-limited; null if it is not. */
  limitedUntil(worker: Pick<Worker, "slug" | "task">): number | null;
}

/** Network access without a gateway: all sandboxes get this network, and agents these variables. */
export function openNetworkAccess(
  network: ContainerNetwork,
  environment: (worker: Worker) => Readonly<Record<string, string>> | null,
): NetworkAccess {
  const never = new AbortController().signal;
  return {
    open: async () => ({ network, volumes: [], env: {} }),
    settled: async () => {},
    close: async () => {},
    environment,
    accessEnded: () => never,
    limitedUntil: () => null,
  };
}
