import type { ContainerNetwork, VolumeMount } from "../ports/containers.ts";
import type { Worker } from "./swarm-deps.ts";

/** How a worker's sandbox is connected to what it may reach. */
export interface WorkerDoor {
  readonly network: ContainerNetwork;
  readonly volumes: readonly VolumeMount[];
  readonly nameServer?: string;
  /** For the adapter: where it finds what it is to pass on. */
  readonly env: Readonly<Record<string, string>>;
}

/** The ways out of a swarm's sandboxes. */
export interface Doors {
  /** How this worker's sandbox is connected. From now on it is let in. */
  open(worker: Worker): Promise<WorkerDoor>;
  /** Resolves when all that it did out there is written down, or nobody can tell any more. */
  settled(worker: Pick<Worker, "slug">): Promise<void>;
  /** It is let in no more. With `isGone` nothing of it is left that has a network. */
  close(worker: Pick<Worker, "name" | "slug">, how: { readonly isGone: boolean }): Promise<void>;
  /** What goes into its agent's environment; asked for at each connection, kept by nobody. */
  environment(worker: Worker): Readonly<Record<string, string>> | null;
  /** Aborted with a `Reason` when it may go no further. */
  shut(slug: string): AbortSignal;
  /** Until when, in milliseconds since 1970, its model takes no calls; null when it does. */
  limitedUntil(worker: Pick<Worker, "slug" | "task">): number | null;
}

/** Where nobody stands at the door: sandboxes have this network, and agents these variables. */
export function openDoors(
  network: ContainerNetwork,
  environment: (worker: Worker) => Readonly<Record<string, string>> | null,
): Doors {
  const never = new AbortController().signal;
  return {
    open: async () => ({ network, volumes: [], env: {} }),
    settled: async () => {},
    close: async () => {},
    environment,
    shut: () => never,
    limitedUntil: () => null,
  };
}
