import type { ContainerLimits } from "../ports/containers.ts";
import type { ContainerEngine } from "../ports/engine.ts";
import type { SandboxFolders } from "../ports/sandbox-folders.ts";
import type { FindRuntimeDeps } from "./find-runtime.ts";

/**
 * The dependencies of all operations on a folder's sandboxes: the records in `.aimi/sandboxes`, and the
 * engine of each sandbox.
 */
export interface ProjectSandboxDeps {
  readonly folders: SandboxFolders;
  readonly clock: () => Date;
  /** Returns the engine at the endpoint that a sandbox's record names. */
  readonly engineAt: (endpoint: string) => Promise<ContainerEngine>;
}

/** The dependencies of creating a sandbox. */
export interface CreateFromSpecDeps extends ProjectSandboxDeps, FindRuntimeDeps {
  readonly newId: () => string;
  readonly limits: ContainerLimits;
  /** The names of the images for `python`, `node` and `bash`. */
  readonly languageImages: Readonly<Record<"python" | "node" | "bash", string>>;
  /** Returns the id of the up-to-date base image. Builds the image if necessary. */
  readonly ensureBase: (onStep: (step: string) => void, signal?: AbortSignal) => Promise<string>;
}
