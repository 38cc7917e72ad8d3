import type { EnginePart } from "../domain/find-holes.ts";
import type { Probe } from "../domain/isolation.ts";
import type { Observed } from "../domain/reconcile.ts";
import type { EngineFilter } from "../domain/system-call-filter.ts";
import type { Containers } from "./containers.ts";
import type { Images } from "./images.ts";
import type { Networks, Volumes } from "./networks.ts";

/** An endpoint where an engine might answer, and the origin of the endpoint. */
export interface EngineCandidate {
  readonly origin: string;
  readonly endpoint: string;
}

/** An engine's description of itself. */
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
  /** The engine's filter of system calls, for containers without a filter of their own. */
  readonly filter: EngineFilter;
}

/** A container with swarm's labels. */
export interface LabelledContainer {
  readonly name: string;
  readonly containerId: string;
  readonly state: Exclude<Observed["kind"], "missing">;
  readonly labels: Readonly<Record<string, string>>;
}

/** A sandbox that runs or is paused. */
export interface SandboxInUse {
  readonly labels: Readonly<Record<string, string>>;
  /** Its memory limit. */
  readonly memoryBytes: number;
}

/** A volume with swarm's labels. */
export interface LabelledVolume {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The scope of one worktree of one project. */
export interface EngineScope {
  readonly projectId: string;
  readonly worktree: string;
}

/** An engine that runs containers. */
export interface ContainerEngine {
  readonly endpoint: string;
  /** Throws ENGINE_UNREACHABLE if no engine answers. */
  info(signal?: AbortSignal): Promise<EngineInfo>;
  /** The containers of one worktree, in one call. */
  observe(scope: EngineScope, signal?: AbortSignal): Promise<LabelledContainer[]>;
  /** The sandboxes of all projects and users that run or are paused. */
  inUse(signal?: AbortSignal): Promise<SandboxInUse[]>;
  /** The volumes of one worktree. */
  volumes(scope: EngineScope, signal?: AbortSignal): Promise<LabelledVolume[]>;
  /** Runs the probe in a container of this runtime, made like a worker's, and removes the container. */
  probe(runtime: string, signal?: AbortSignal): Promise<Probe>;
  /** The engine's components, as far as it reports them. */
  parts(signal?: AbortSignal): Promise<EnginePart[]>;
  /** Whether the engine reaches an image registry. */
  reachesRegistry(signal?: AbortSignal): Promise<boolean>;
  /** Connects to the engine; its client library is loaded only now. */
  open(signal?: AbortSignal): Promise<OpenEngine>;
}

/** The resources of an engine. */
export interface OpenEngine {
  readonly containers: Containers;
  readonly images: Images;
  readonly networks: Networks;
  readonly volumes: Volumes;
}

/** A candidate after it was tried. */
export interface TriedCandidate extends EngineCandidate {
  /** Why the candidate was refused; null if it answered. */
  readonly refused: string | null;
  readonly info: EngineInfo | null;
}

/** The labels by which swarm finds its resources again. */
export const labels = {
  sandbox: "org.aimi.sandbox",
  project: "org.aimi.project",
  worktree: "org.aimi.worktree",
  swarm: "org.aimi.swarm",
  taskFile: "org.aimi.task-file",
  role: "org.aimi.role",
  attempt: "org.aimi.attempt",
  /** The id of a single sandbox. */
  sandboxId: "org.aimi.sandbox-id",
  /** The measured isolation of the sandbox's runtime, and the runtime. */
  isolation: "org.aimi.isolation",
  runtime: "org.aimi.runtime",
  workdir: "org.aimi.workdir",
  /** The checksum of the adapter in an image. */
  adapter: "org.aimi.adapter",
  /** The checksum of all inputs of an image. */
  checksum: "org.aimi.checksum",
  /** The checksum of the inputs that quickly show that an image is unchanged. */
  quickKey: "org.aimi.quick-key",
  /** All inputs with their checksums, as JSON. */
  inputs: "org.aimi.inputs",
} as const;
