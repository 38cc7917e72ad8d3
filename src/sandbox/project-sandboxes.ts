import type { ContainerLimits } from "../engine/containers.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import type { FindRuntimeDeps } from "./find-runtime.ts";
import type { SandboxFolders } from "./sandbox-folders-port.ts";

/**
 * What every operation on the sandboxes of a folder needs: the records in `.aimi/sandboxes`, and the engine
 * of each sandbox.
 */
export interface ProjectSandboxDeps {
  readonly folders: SandboxFolders;
  readonly clock: () => Date;
  /** Returns the container engine at the endpoint that a sandbox's record contains. */
  readonly engineAt: (endpoint: string) => Promise<ContainerEngine>;
}

/** What the creation of a sandbox from a spec needs. */
export interface CreateFromSpecDeps extends ProjectSandboxDeps, FindRuntimeDeps {
  readonly newId: () => string;
  readonly limits: ContainerLimits;
  /** The references of the images for tasks in Python, Node and bash. */
  readonly languageImages: Readonly<Record<"python" | "node" | "bash", string>>;
  /** Returns the ID of swarm's base image, after building the image if it does not exist or is outdated. */
  readonly ensureBase: (onStep: (step: string) => void, signal?: AbortSignal) => Promise<string>;
}
