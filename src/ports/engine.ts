import type { Probe } from "../domain/isolation.ts";
import type { Observed } from "../domain/reconcile.ts";

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
}

/** A container that carries our labels. */
export interface LabelledContainer {
  readonly name: string;
  readonly containerId: string;
  readonly state: Exclude<Observed["kind"], "missing">;
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
  /** The names of its volumes. */
  volumes(scope: EngineScope, signal?: AbortSignal): Promise<string[]>;
  /** Runs the probe in a container of this runtime, made as a worker's would be, and removes it. */
  probe(runtime: string, signal?: AbortSignal): Promise<Probe>;
  /** Whether the engine can see an image registry. */
  reachesRegistry(signal?: AbortSignal): Promise<boolean>;
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
} as const;
