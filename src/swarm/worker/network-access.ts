import type { ContainerNetwork, VolumeMount } from "../../engine/containers.ts";
import type { Worker } from "./worker.ts";

/** How a worker's sandbox is connected: to a network, to the gateway's socket, or to nothing. */
export interface NetworkConnection {
  readonly network: ContainerNetwork;
  readonly volumes: readonly VolumeMount[];
  readonly nameServer?: string;
  /**
   * Environment variables for the adapter. They contain the path of the gateway's socket, to which the
   * adapter's proxy on the loopback interface forwards the agent's requests.
   */
  readonly env: Readonly<Record<string, string>>;
}

/** Opens and closes the network access of the workers' sandboxes. */
export interface NetworkAccess {
  /** Lets a worker use the gateway, if the swarm has one. Returns how to connect the worker's sandbox. */
  open(worker: Worker): Promise<NetworkConnection>;
  /**
   * Waits until all network activity of the worker so far is in the worker's record. If the gateway does not
   * answer within a few seconds, continues without its latest reports.
   */
  waitForRecords(worker: Pick<Worker, "slug">): Promise<void>;
  /**
   * Ends the network access of a worker. `isGone` says that no container of the worker is left; then also
   * removes the worker's network.
   */
  close(worker: Pick<Worker, "name" | "slug">, how: { readonly isGone: boolean }): Promise<void>;
  /**
   * Returns the environment variables with which the agent reaches its model; null if there are none. The
   * owner reads them each time that it connects to the worker, and never stores them.
   */
  environment(worker: Worker): Readonly<Record<string, string>> | null;
  /**
   * Returns a signal that is aborted when the budget of the worker or of the swarm is used up. The worker's
   * network access then ends for good. The signal's reason is a `Reason`.
   */
  accessEnded(slug: string): AbortSignal;
  /**
   * Returns the time at which the rate limit of the worker's model ends, in milliseconds since 1970. Null if
   * the model accepts calls now.
   */
  limitedUntil(worker: Pick<Worker, "slug" | "task">): number | null;
}

/**
 * Creates the network access of a swarm without a gateway. All sandboxes get the same network, and the agents
 * get the variables that `environment` returns.
 */
export function openNetworkAccessWithoutGateway(
  network: ContainerNetwork,
  environment: (worker: Worker) => Readonly<Record<string, string>> | null,
): NetworkAccess {
  const never = new AbortController().signal;
  return {
    open: async () => ({ network, volumes: [], env: {} }),
    waitForRecords: async () => {},
    close: async () => {},
    environment,
    accessEnded: () => never,
    limitedUntil: () => null,
  };
}
