export interface NetworkSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the network has no route out. The engine's host has no address in it, so its services are unreachable. */
  readonly internal: boolean;
  /** The subnet, which swarm chooses because an engine's own pools hold only about thirty networks. */
  readonly subnet: string | null;
}

/** The networks of an engine, which outlive containers. */
export interface Networks {
  create(spec: NetworkSpec, signal?: AbortSignal): Promise<string>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  /** Names of all networks of the engine, except its built-in `host` and `none`. */
  names(signal?: AbortSignal): Promise<string[]>;
  /** The address ranges of all networks of the engine. */
  subnets(signal?: AbortSignal): Promise<{ readonly name: string; readonly subnet: string }[]>;
  /** Connects a container at this address; does nothing if it is connected already. */
  connect(name: string, container: string, address: string, signal?: AbortSignal): Promise<void>;
  /** Removes a network; containers that are still connected are disconnected. */
  remove(name: string, signal?: AbortSignal): Promise<void>;
}

export interface Volumes {
  create(name: string, labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  remove(name: string, signal?: AbortSignal): Promise<void>;
}
