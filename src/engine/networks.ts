export interface NetworkSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Whether the network is internal: containers can reach neither the internet nor services on the engine's
   * host.
   */
  readonly internal: boolean;
  /**
   * The network's IP address range; null if the engine chooses the range. By default, an engine can choose
   * ranges for only about thirty networks.
   */
  readonly subnet: string | null;
}

/** Manages the networks of an engine. A network continues to exist after its last container is removed. */
export interface Networks {
  create(spec: NetworkSpec, signal?: AbortSignal): Promise<string>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  /** Returns the names of the engine's networks, except the built-in networks `host` and `none`. */
  names(signal?: AbortSignal): Promise<string[]>;
  /** Returns the IP address ranges of the engine's networks. */
  subnets(signal?: AbortSignal): Promise<{ readonly name: string; readonly subnet: string }[]>;
  /**
   * Connects a container to a network, with the given IP address. Does nothing if the container is already
   * connected.
   */
  connect(name: string, container: string, address: string, signal?: AbortSignal): Promise<void>;
  /** Disconnects the containers of a network, and removes the network. */
  remove(name: string, signal?: AbortSignal): Promise<void>;
}

export interface Volumes {
  create(name: string, labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  remove(name: string, signal?: AbortSignal): Promise<void>;
}
