/** What a swarm's gateway is called, and what belongs to it. */
export interface GatewayNames {
  readonly container: string;
  /** Its journal. */
  readonly volume: string;
  /** Where sandboxes without a network knock. */
  readonly door: string;
}

export function gatewayNames({
  projectId,
  swarmId,
}: {
  readonly projectId: string;
  readonly swarmId: string;
}): GatewayNames {
  const name = `aimi-${projectId.slice(0, 6)}-${swarmId.slice(0, 6)}`;
  return { container: `${name}.gateway`, volume: `${name}.gateway`, door: `${name}.door` };
}

/** The network that a worker's container has for itself. */
export function workerNetworkName(containerName: string): string {
  return containerName.includes(".") ? `${containerName}net` : `${containerName}.net`;
}
