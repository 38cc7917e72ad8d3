import type { ContainerSpec } from "../../engine/containers.ts";
import { homeVolumeName } from "../../state/rules/worker-container-name.ts";
import type { NetworkConnection } from "./network-access.ts";
import type { WorkerSandboxes } from "./owner-services.ts";

const tmpBytes = 1024 ** 3;

export interface WorkerOfContainer {
  /**
   * The name of the worker's container, and of the volume with the adapter's journal:
   * `aimi-<project>-<swarm>-<slug>`, followed by `-a<n>` from the second attempt on.
   */
  readonly name: string;
  readonly slug: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly swarmId: string;
  readonly attempt: number;
  readonly branch: string;
}

/**
 * Returns the spec of a worker's container. Its supervisor runs as root with three capabilities, and stores
 * the adapter's messages in a volume of their own. All other programs run as the agent's user, without
 * capabilities.
 */
export function workerContainerSpec(
  { image, runtime, limits }: Pick<WorkerSandboxes, "image" | "runtime" | "limits">,
  { network, volumes, nameServer, env }: NetworkConnection,
  { name, slug, labels, swarmId, attempt, branch }: WorkerOfContainer,
): ContainerSpec {
  return {
    name,
    labels,
    image,
    runtime,
    network,
    limits,
    tmpBytes,
    ...(nameServer !== undefined && { nameServer }),
    command: ["/opt/aimi/adapter", "supervise"],
    env: {
      AIMI_SWARM_ID: swarmId,
      AIMI_WORKER: slug,
      AIMI_ATTEMPT: String(attempt),
      AIMI_BRANCH: branch,
      IS_SANDBOX: "1",
      ...env,
    },
    user: "0:0",
    workdir: "/",
    capabilities: ["SETUID", "SETGID", "KILL"],
    readOnlyRoot: false,
    privileged: false,
    // All attempts of the worker share the volume with the agent's home folder, because it contains the
    // agent's conversations.
    volumes: [{ name, path: "/aimi" }, { name: homeVolumeName(name), path: "/home/agent" }, ...volumes],
  };
}
