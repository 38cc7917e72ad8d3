/** How the sandboxes of a swarm's workers are connected. */
export type WorkerNetwork =
  | { readonly kind: "none" }
  /** The gateway alone, for workers whose agent calls a model or was allowed something; none for the others. */
  | { readonly kind: "gateway" }
  /** The engine's own, with a way out. */
  | { readonly kind: "bridge" }
  /** One that somebody made on the engine. */
  | { readonly kind: "named"; readonly name: string };

/** What the setting `network` means, for every worker of a swarm. */
export function workerNetwork(setting: string): WorkerNetwork {
  if (setting === "none" || setting === "gateway" || setting === "bridge") return { kind: setting };
  return { kind: "named", name: setting };
}

/** Whether an agent of this kind is nothing without its model's API. A program of one's own may or may not need one: nobody can tell. */
export function needsNetwork(kind: string): boolean {
  return kind === "claude" || kind === "acp";
}

/** What people must know of a network before anything runs in it; null where nothing leaves but what they allowed. */
export function describeNetwork(setting: string): string | null {
  const network = workerNetwork(setting);
  switch (network.kind) {
    case "none":
    case "gateway":
      return null;
    case "bridge":
      return unfiltered("bridge", "the internet, hosts of your local network, and each other");
    case "named":
      return unfiltered(network.name, "all that this network leads to, and each other");
  }
}

function unfiltered(name: string, reach: string): string {
  return `network ${name}: NOT filtered, whatever runs in these sandboxes can reach ${reach}; --network gateway lets out only what you allow`;
}
