/** The network that the containers of a swarm's workers join. */
export type WorkerNetwork =
  | { readonly kind: "none" }
  /**
   * A network from which only the gateway is reachable. A worker whose agent calls no model and has no
   * allowed hosts gets no network.
   */
  | { readonly kind: "gateway" }
  /** The engine's default bridge network, with internet access. */
  | { readonly kind: "bridge" }
  /** A network that the user created on the engine. */
  | { readonly kind: "named"; readonly name: string };

/** Parses the value of the setting `network`, which applies to every worker of a swarm. */
export function parseWorkerNetwork(setting: string): WorkerNetwork {
  if (setting === "none" || setting === "gateway" || setting === "bridge") return { kind: setting };
  return { kind: "named", name: setting };
}

/**
 * Whether agents of this kind need their model's API. Returns false for the user's own program, whose needs
 * are unknown.
 */
export function needsModelApi(kind: string): boolean {
  return kind === "claude" || kind === "acp";
}

/**
 * Returns a warning that the network of this setting does not filter traffic, for the user before a swarm
 * starts. Null for `none` and `gateway`.
 */
export function findNetworkWarning(setting: string): string | null {
  const { kind } = parseWorkerNetwork(setting);
  if (kind === "none" || kind === "gateway") return null;
  const reach =
    kind === "bridge"
      ? "the internet, hosts of your local network, and the other sandboxes"
      : "every host that is reachable through this network, and the other sandboxes";
  return `network ${setting}: NOT filtered, the programs in these sandboxes can reach ${reach}; --network gateway allows only the hosts that you name`;
}
