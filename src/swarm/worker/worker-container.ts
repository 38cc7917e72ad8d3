import type { ContainerLimits, ContainerSpec } from "../../engine/containers.ts";
import type { NetworkConnection } from "./network-access.ts";

export interface WorkerContainerInput {
  /**
   * The name of the worker's container, and of the volume with the adapter's journal:
   * `aimi-<project>-<swarm>-<slug>`, followed by `-a<n>` from the second attempt on.
   */
  readonly name: string;
  /**
   * The name of the volume with the agent's home folder. All attempts of the worker share it, because it
   * contains the agent's conversations.
   */
  readonly homeVolume: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly runtime: string;
  readonly network: NetworkConnection;
  readonly limits: ContainerLimits;
  readonly tmpBytes: number;
  readonly swarmId: string;
  readonly worker: string;
  readonly attempt: number;
  readonly branch: string;
}

/**
 * Returns the spec of a worker's container. Its supervisor runs as root with three capabilities, and stores
 * the adapter's messages in a volume of their own. All other programs run as the agent's user, without
 * capabilities.
 */
export function workerContainerSpec(worker: WorkerContainerInput): ContainerSpec {
  const { name, homeVolume, labels, image, runtime, network: connection, limits, tmpBytes } = worker;
  return {
    ...{ name, labels, image, runtime, network: connection.network, limits, tmpBytes },
    ...(connection.nameServer !== undefined && { nameServer: connection.nameServer }),
    command: ["/opt/aimi/adapter", "supervise"],
    env: {
      AIMI_SWARM_ID: worker.swarmId,
      AIMI_WORKER: worker.worker,
      AIMI_ATTEMPT: String(worker.attempt),
      AIMI_BRANCH: worker.branch,
      IS_SANDBOX: "1",
      ...connection.env,
    },
    user: "0:0",
    workdir: "/",
    capabilities: ["SETUID", "SETGID", "KILL"],
    readOnlyRoot: false,
    privileged: false,
    volumes: [{ name, path: "/aimi" }, { name: homeVolume, path: "/home/agent" }, ...connection.volumes],
  };
}
