import type { EngineComponent } from "../domain/find-holes.ts";
import type { Probe } from "../domain/isolation.ts";
import type { ObservedContainer } from "../domain/reconcile.ts";
import type { EngineSystemCallFilter } from "../domain/system-call-filter.ts";
import type { Containers } from "./containers.ts";
import type { Images } from "./images.ts";
import type { Networks, Volumes } from "./networks.ts";

/** An endpoint where a container engine might answer, and the source from which swarm knows the endpoint. */
export interface EngineCandidate {
  readonly origin: string;
  readonly endpoint: string;
}

/** The facts that a container engine reports about itself. */
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
  /** The system-call filter that the engine applies to containers without a filter of their own. */
  readonly filter: EngineSystemCallFilter;
}

/** A container that has swarm's labels. */
export interface LabelledContainer {
  readonly name: string;
  readonly containerId: string;
  readonly state: Exclude<ObservedContainer["kind"], "missing">;
  readonly labels: Readonly<Record<string, string>>;
}

/** A sandbox of any project or user that is running or paused. */
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

/** The worktree of a project to which a request to the engine is limited. */
export interface EngineScope {
  readonly projectId: string;
  readonly worktree: string;
}

/** A container engine such as Docker or Podman, before swarm loads its client library. */
export interface ContainerEngine {
  readonly endpoint: string;
  /** Returns what the engine reports about itself; throws ENGINE_UNREACHABLE if no engine answers. */
  info(signal?: AbortSignal): Promise<EngineInfo>;
  /** Lists the containers of one worktree, in a single request. */
  listContainers(scope: EngineScope, signal?: AbortSignal): Promise<LabelledContainer[]>;
  /** Lists the running and paused sandboxes of all projects and users. */
  listSandboxesInUse(signal?: AbortSignal): Promise<SandboxInUse[]>;
  /** Lists the volumes of one worktree. */
  volumes(scope: EngineScope, signal?: AbortSignal): Promise<LabelledVolume[]>;
  /**
   * Measures a runtime: runs the probe in a container that is configured like a worker's, and removes the
   * container.
   */
  probe(runtime: string, signal?: AbortSignal): Promise<Probe>;
  /** Lists the components that the engine reports, with their versions. */
  listComponents(signal?: AbortSignal): Promise<EngineComponent[]>;
  /** Tests whether the engine can connect to an image registry. */
  reachesRegistry(signal?: AbortSignal): Promise<boolean>;
  /** Connects to the engine. The client library loads only now, because loading takes long. */
  open(signal?: AbortSignal): Promise<ConnectedEngine>;
}

/** The containers, images, networks and volumes of an engine to which swarm is connected. */
export interface ConnectedEngine {
  readonly containers: Containers;
  readonly images: Images;
  readonly networks: Networks;
  readonly volumes: Volumes;
}

/** A candidate endpoint after swarm tried to reach an engine there. */
export interface TriedCandidate extends EngineCandidate {
  /** The reason why swarm does not use the candidate; null if an engine answered there. */
  readonly refused: string | null;
  readonly info: EngineInfo | null;
}

/** The names of the labels by which swarm finds its containers, volumes and images again. */
export const labels = {
  sandbox: "org.aimi.sandbox",
  project: "org.aimi.project",
  worktree: "org.aimi.worktree",
  swarm: "org.aimi.swarm",
  taskFile: "org.aimi.task-file",
  role: "org.aimi.role",
  attempt: "org.aimi.attempt",
  /** The ID of a sandbox that the user made with `swarm sandbox` or the library. */
  sandboxId: "org.aimi.sandbox-id",
  /**
   * The isolation level that swarm measured for the sandbox's runtime. The next label has the runtime's name.
   */
  isolation: "org.aimi.isolation",
  runtime: "org.aimi.runtime",
  workdir: "org.aimi.workdir",
  /** The checksum of the adapter that the image contains. */
  adapter: "org.aimi.adapter",
  /** The checksum of all inputs from which swarm built the image. */
  checksum: "org.aimi.checksum",
  /**
   * The key with which swarm finds an up-to-date image without planning a new one: a checksum of the inputs
   * that are quick to read.
   */
  quickKey: "org.aimi.quick-key",
  /** The inputs from which swarm built the image, each with its checksum, as JSON. */
  inputs: "org.aimi.inputs",
} as const;
