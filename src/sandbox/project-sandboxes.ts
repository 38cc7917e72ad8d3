import type { ContainerLimits } from "../ports/containers.ts";
import type { ContainerEngine } from "../ports/engine.ts";
import type { SandboxFolders } from "../ports/sandbox-folders.ts";
import type { FindRuntimeDeps } from "./find-runtime.ts";

/** Dependencies of the sandboxes of a folder: `.aimi/sandboxes`, and the engine of each sandbox. */
export interface ProjectSandboxes {
  readonly folders: SandboxFolders;
  readonly clock: () => Date;
  /** The engine at an endpoint that a record names. */
  readonly engineAt: (endpoint: string) => Promise<ContainerEngine>;
}

/** Further dependencies, to create a sandbox. */
export interface CreateFromSpecDeps extends ProjectSandboxes, FindRuntimeDeps {
  readonly newId: () => string;
  readonly limits: ContainerLimits;
  /** Images of `python`, `node` and `bash`. */
  readonly languageImages: Readonly<Record<"python" | "node" | "bash", string>>;
  /** The id of the up-to-date base image, built if necessary. */
  readonly ensureBase: (onStep: (step: string) => void, signal?: AbortSignal) => Promise<string>;
}
