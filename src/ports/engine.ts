import type { EnginePart } from "../domain/find-holes.ts";
import type { Probe } from "../domain/isolation.ts";
import type { Observed } from "../domain/reconcile.ts";
import type { EngineFilter } from "../domain/system-call-filter.ts";
import type { Containers } from "./containers.ts";
import type { Images } from "./images.ts";
import type { Networks, Volumes } from "./networks.ts";

/** A place where an engine might answer, and who says so. */
export interface EngineCandidate {
  readonly origin: string;
  readonly endpoint: string;
}

/** An engine that answers, in its own words. */
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
  /** Of system calls, for containers that bring none. */
  readonly filter: EngineFilter;
}

/** A container that carries our labels. */
export interface LabelledContainer {
  readonly name: string;
  readonly containerId: string;
  readonly state: Exclude<Observed["kind"], "missing">;
  readonly labels: Readonly<Record<string, string>>;
}

/** A volume that carries our labels. */
export interface LabelledVolume {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What belongs to one worktree of one project. */
export interface EngineScope {
  readonly projectId: string;
  readonly worktree: string;
}

/** What we need of an engine that runs containers. */
export interface ContainerEngine {
  readonly endpoint: string;
  /** Throws ENGINE_UNREACHABLE when nobody answers. */
  info(signal?: AbortSignal): Promise<EngineInfo>;
  /** The containers of one worktree, in one call. */
  observe(scope: EngineScope, signal?: AbortSignal): Promise<LabelledContainer[]>;
  /** Its volumes. */
  volumes(scope: EngineScope, signal?: AbortSignal): Promise<LabelledVolume[]>;
  /** Runs the probe in a container of this runtime, made as a worker's would be, and removes it. */
  probe(runtime: string, signal?: AbortSignal): Promise<Probe>;
  /** What it is made of, as far as it tells. */
  parts(signal?: AbortSignal): Promise<EnginePart[]>;
  /** Whether the engine can see an image registry. */
  reachesRegistry(signal?: AbortSignal): Promise<boolean>;
  /** What acts on the engine, loaded when it is first wanted. */
  open(signal?: AbortSignal): Promise<OpenEngine>;
}

/** Everything that can be made on an engine, and taken away again. */
export interface OpenEngine {
  readonly containers: Containers;
  readonly images: Images;
  readonly networks: Networks;
  readonly volumes: Volumes;
}

/** A candidate after it was tried. */
export interface TriedCandidate extends EngineCandidate {
  /** Null when it answered. */
  readonly refused: string | null;
  readonly info: EngineInfo | null;
}

/** The labels by which everything of ours is found again. */
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
  /** What the sandbox's runtime was measured to be, and which it is. */
  isolation: "org.aimi.isolation",
  runtime: "org.aimi.runtime",
  workdir: "org.aimi.workdir",
  /** Checksum of the in-container program of an image. */
  adapter: "org.aimi.adapter",
  /** Of everything that went into an image. */
  checksum: "org.aimi.checksum",
  /** Of what an unchanged image is recognised by at once. */
  quickKey: "org.aimi.quick-key",
  /** Each of these things with its own checksum, as JSON. */
  inputs: "org.aimi.inputs",
} as const;
