import type { ContainerNetwork, VolumeMount } from "../ports/containers.ts";
import type { Worker } from "./swarm-deps.ts";

/** How a worker's sandbox is connected to the network or to the gateway. */
export interface NetworkConnection {
  readonly network: ContainerNetwork;
  readonly volumes: readonly VolumeMount[];
  readonly nameServer?: string;
  /**
   * Variables for the adapter. They name the gateway's socket, to which the adapter's loopback proxy
   * forwards.
   */
  readonly env: Readonly<Record<string, string>>;
}

/** Opens and closes the network access of a swarm's sandboxes. */
export interface NetworkAccess {
  /** Admits a worker to the gateway, if there is one. Returns how to connect the worker's sandbox. */
  open(worker: Worker): Promise<NetworkConnection>;
  /**
   * Waits until the worker's network activity so far is recorded. If the gateway does not answer within a few
   * seconds, stops waiting for the gateway.
   */
  waitForRecords(worker: Pick<Worker, "slug">): Promise<void>;
  /**
   * Ends a worker's network access. If `isGone`, no container of the worker is left, so the worker's network
   * is removed, too.
   */
  close(worker: Pick<Worker, "name" | "slug">, how: { readonly isGone: boolean }): Promise<void>;
  /**
   * Returns the environment variables for the agent; null if there are none. The owner reads them at each
   * connection and never stores them.
   */
  environment(worker: Worker): Readonly<Record<string, string>> | null;
  /**
   * Returns a signal that is aborted when the budget of the worker or of the swarm is used up, which ends the
   * worker's access for good. The signal's reason is a `Reason`.
   */
  accessEnded(slug: string): AbortSignal;
  /**
   * Returns when the rate limit of the worker's model ends, in milliseconds since 1970. Null if the model
   * accepts calls now.
   */
  limitedUntil(worker: Pick<Worker, "slug" | "task">): number | null;
}

/**
 * Returns network access without a gateway: all sandboxes get the same network, and agents get the variables
 * of `environment`.
 */
export function openNetworkAccess(
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
