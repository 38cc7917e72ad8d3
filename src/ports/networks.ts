export interface NetworkSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Without a way out. The engine's host has no address there either: its services are not reachable from it. */
  readonly internal: boolean;
  /** Chosen by us, since an engine's own pools end after thirty networks. */
  readonly subnet: string | null;
}

/** The networks and volumes of an engine, which outlive containers. */
export interface Networks {
  create(spec: NetworkSpec, signal?: AbortSignal): Promise<string>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  /** Names of all that the engine has, whoever made them, but for those that are the host's own or none. */
  names(signal?: AbortSignal): Promise<string[]>;
  /** The address ranges of all that the engine has, whoever made them. */
  subnets(signal?: AbortSignal): Promise<{ readonly name: string; readonly subnet: string }[]>;
  /** Gives a container a leg in it, at this address; one that it has already is fine. */
  connect(name: string, container: string, address: string, signal?: AbortSignal): Promise<void>;
  /** Whoever is still connected is cut off. */
  remove(name: string, signal?: AbortSignal): Promise<void>;
}

export interface Volumes {
  create(name: string, labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<void>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string[]>;
  remove(name: string, signal?: AbortSignal): Promise<void>;
}
