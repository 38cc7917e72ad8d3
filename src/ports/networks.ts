export interface NetworkSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Whether the network is internal, without a route out. Containers then cannot reach services on the
   * engine's host, which has no address in the network.
   */
  readonly internal: boolean;
  /**
   * The network's address range; null if the engine chooses the range. By default, an engine has ranges for
   * only about thirty networks.
   */
  readonly subnet: string | null;
}

/** The networks of an engine. A network stays after its last container is removed. */
export interface Networks {
  create(spec: NetworkSpec, signal?: AbortSignal): Promise<string>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  /** Returns the names of the engine's networks, except the built-in `host` and `none`. */
  names(signal?: AbortSignal): Promise<string[]>;
  /** Returns the address ranges of the engine's networks. */
  subnets(signal?: AbortSignal): Promise<{ readonly name: string; readonly subnet: string }[]>;
  /**
   * Connects a container to a network with this IP address. Does nothing if the container is already
   * connected.
   */
  connect(name: string, container: string, address: string, signal?: AbortSignal): Promise<void>;
  /** Removes a network, after disconnecting its containers. */
  remove(name: string, signal?: AbortSignal): Promise<void>;
}

export interface Volumes {
  create(name: string, labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  remove(name: string, signal?: AbortSignal): Promise<void>;
}
