/** The names of a swarm's gateway and of its volumes. */
export interface GatewayNames {
  readonly container: string;
  /** The volume of its journal. */
  readonly journalVolume: string;
  /** The volume of the socket through which sandboxes without a network reach it. */
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

/** The name of the network of one worker's container and the gateway. */
export function workerNetworkName(containerName: string): string {
  return containerName.includes(".") ? `${containerName}net` : `${containerName}.net`;
}
