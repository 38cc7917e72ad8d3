/** The names of the gateway's container and of its two volumes, in one swarm. */
export interface GatewayNames {
  readonly container: string;
  /** The name of the volume in which the gateway stores its journal of requests. */
  readonly journalVolume: string;
  /**
   * The name of the volume with the Unix socket through which sandboxes without a network reach the gateway.
   */
  readonly socketVolume: string;
}

export function gatewayNames({
  projectId,
  swarmId,
}: {
  readonly projectId: string;
  readonly swarmId: string;
}): GatewayNames {
  const name = `aimi-${projectId.slice(0, 6)}-${swarmId.slice(0, 6)}`;
  return { container: `${name}.gateway`, journalVolume: `${name}.gateway`, socketVolume: `${name}.door` };
}

/** Returns the name of a worker's own network, which connects only the worker's container and the gateway. */
export function workerNetworkName(containerName: string): string {
  return containerName.includes(".") ? `${containerName}net` : `${containerName}.net`;
}
