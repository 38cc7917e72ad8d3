import type { Containers } from "./containers.ts";
import type { Images } from "./images.ts";
import type { Networks, Volumes } from "./networks.ts";
import type { EngineComponent } from "./rules/find-vulnerabilities.ts";
import type { Probe } from "./rules/isolation.ts";
import type { ObservedContainer } from "./rules/observed-container.ts";
import type { EngineSystemCallFilter } from "./rules/system-call-filter.ts";

/**
 * An endpoint at which a container engine might answer. `origin` names the source of the endpoint, such as an
 * environment variable.
 */
export interface EngineCandidate {
  readonly origin: string;
  readonly endpoint: string;
}

/** The properties that a container engine reports about itself. */
export interface EngineInfo {
  readonly endpoint: string;
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly kernel: string;
  readonly architecture: string;
  readonly runtimes: readonly string[];
  readonly storageDriver: string;
  readonly dataFolder: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly builder: "buildkit" | "classic";
  /** The system-call filter (seccomp profile) that the engine applies to a container by default. */
  readonly filter: EngineSystemCallFilter;
}

/** A container that has swarm's labels. */
export interface LabelledContainer {
  readonly name: string;
  readonly containerId: string;
  readonly state: Exclude<ObservedContainer["kind"], "missing">;
  readonly labels: Readonly<Record<string, string>>;
}

/** A running or paused sandbox of any project and any user. */
export interface SandboxInUse {
  readonly labels: Readonly<Record<string, string>>;
  /** The sandbox's memory limit in bytes. */
  readonly memoryBytes: number;
}

/** A volume that has swarm's labels. */
export interface LabelledVolume {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The project and the worktree to whose containers or volumes a listing is limited. */
export interface EngineWorktreeScope {
  readonly projectId: string;
  readonly worktree: string;
}

/**
 * A client of a container engine such as Docker or Podman. Its methods other than `open` work without the
 * engine's client library, which takes long to load.
 */
export interface ContainerEngine {
  readonly endpoint: string;
  readonly capabilities: EngineCapabilities;
  /**
   * Returns the properties that the engine reports about itself; throws ENGINE_UNREACHABLE if no engine
   * answers.
   */
  info(signal?: AbortSignal): Promise<EngineInfo>;
  /** Lists the containers of one worktree with a single request to the engine. */
  listContainers(scope: EngineWorktreeScope, signal?: AbortSignal): Promise<LabelledContainer[]>;
  /** Lists the running and paused sandboxes of all projects and users. */
  listSandboxesInUse(signal?: AbortSignal): Promise<SandboxInUse[]>;
  /** Lists the volumes of one worktree. */
  volumes(scope: EngineWorktreeScope, signal?: AbortSignal): Promise<LabelledVolume[]>;
  /**
   * Measures the isolation of a runtime: runs a probe in a container that is configured like a worker's
   * container, and removes the container.
   */
  probe(runtime: string, signal?: AbortSignal): Promise<Probe>;
  /** Lists the engine's components, such as containerd and runc, with their versions. */
  listComponents(signal?: AbortSignal): Promise<EngineComponent[]>;
  /** Returns whether the engine can connect to an image registry. */
  reachesRegistry(signal?: AbortSignal): Promise<boolean>;
  /**
   * Connects to the engine. Loads the client library now, because loading takes long and most commands do not
   * need it.
   */
  open(signal?: AbortSignal): Promise<ConnectedEngine>;
}

/** Access to the containers, images, networks and volumes of an engine to which swarm is connected. */
export interface ConnectedEngine {
  readonly containers: Containers;
  readonly images: Images;
  readonly networks: Networks;
  readonly volumes: Volumes;
}

/** The result of trying to reach a container engine at a candidate endpoint. */
export interface TriedEngineCandidate extends EngineCandidate {
  /** The reason why swarm does not use this endpoint; null if an engine answered. */
  readonly refused: string | null;
  readonly info: EngineInfo | null;
}

/** The names of the labels that swarm sets on its containers, volumes and images to find them again. */
export const labels = {
  sandbox: "org.aimi.sandbox",
  project: "org.aimi.project",
  worktree: "org.aimi.worktree",
  swarm: "org.aimi.swarm",
  taskFile: "org.aimi.task-file",
  role: "org.aimi.role",
  attempt: "org.aimi.attempt",
  /** The ID of a sandbox that the user created with `swarm sandbox` or with the library. */
  sandboxId: "org.aimi.sandbox-id",
  /**
   * The isolation level that swarm measured for the sandbox's runtime. The label `runtime` has the runtime's
   * name.
   */
  isolation: "org.aimi.isolation",
  runtime: "org.aimi.runtime",
  workdir: "org.aimi.workdir",
  /** The checksum of the adapter program that the image contains. */
  adapter: "org.aimi.adapter",
  /** The checksum of all inputs from which swarm built the image. */
  checksum: "org.aimi.checksum",
  /**
   * The key by which swarm quickly finds an up-to-date image: a checksum of those build inputs that are quick
   * to read.
   */
  quickKey: "org.aimi.quick-key",
  /** The names and the checksums of the inputs from which swarm built the image, as JSON. */
  inputs: "org.aimi.inputs",
} as const;
/** What an engine can do beyond running containers. An engine announces it, and a use case asks before it relies on it. */
export interface EngineCapabilities {
  /** Whether the engine can freeze a running container. */
  readonly pause: boolean;
  /** Whether networks can have a chosen range of IP addresses. */
  readonly subnets: boolean;
  /** Whether the engine can create an image from a container. */
  readonly commit: boolean;
  /** Whether volumes have names, so that they outlive a container. */
  readonly namedVolumes: boolean;
}
