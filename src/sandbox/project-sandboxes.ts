import type { ContainerLimits } from "../ports/containers.ts";
import type { ContainerEngine } from "../ports/engine.ts";
import type { SandboxFolders } from "../ports/sandbox-folders.ts";
import type { FindRuntimeDeps } from "./find-runtime.ts";

/** What the sandboxes of a folder need: `.aimi/sandboxes`, and the engine that each of them is on. */
export interface ProjectSandboxes {
  readonly folders: SandboxFolders;
  readonly clock: () => Date;
  /** The engine at an endpoint that a record names. */
  readonly engineAt: (endpoint: string) => Promise<ContainerEngine>;
}

/** What making a new one needs besides. */
export interface BringUpDeps extends ProjectSandboxes, FindRuntimeDeps {
  readonly newId: () => string;
  readonly limits: ContainerLimits;
  /** Images of `python`, `node` and `bash`. */
  readonly languageImages: Readonly<Record<"python" | "node" | "bash", string>>;
  /** The base image as it should be, built if need be. */
  readonly ensureBase: (onStep: (step: string) => void, signal?: AbortSignal) => Promise<string>;
}
