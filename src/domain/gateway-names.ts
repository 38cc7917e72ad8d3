/** The names of a swarm's gateway container and of the gateway's volumes. */
export interface GatewayNames {
  readonly container: string;
  /** The name of the volume with the gateway's journal. */
  readonly journalVolume: string;
  /** The name of the volume with the socket through which sandboxes without a network reach the gateway. */
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

/** Returns the name of the network that connects only one worker's container and the gateway. */
export function workerNetworkName(containerName: string): string {
  return containerName.includes(".") ? `${containerName}net` : `${containerName}.net`;
}
