import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ContainerEngine } from "../engine/engine.ts";
import { probeCache } from "../engine/probe-cache.ts";
import { type EnsuredImage, ensureBaseImage } from "../images/ensure-base-image.ts";
import { imageBuildDeps } from "../images/open-images.ts";
import { openLocks } from "../machine/locks/open-locks.ts";
import { adapterId } from "../machine/package-files.ts";
import { userFolders } from "../machine/user-folders.ts";
import { addArgumentChecks } from "../sandbox/add-argument-checks.ts";
import { checkLibraryCall } from "../sandbox/check-library-call.ts";
import {
  type CreateSandboxDeps,
  createSandbox as create,
  type SandboxOptions,
} from "../sandbox/create-sandbox.ts";
import { openSandbox as open } from "../sandbox/open-sandbox.ts";
import type { OpenSandboxOptions, Sandbox } from "../sandbox/sandbox.ts";
import { createEngines } from "./engines.ts";

export interface LibraryOptions {
  /**
   * The endpoint of the container engine, such as `unix:///var/run/docker.sock`. By default, the first engine
   * that answers.
   */
  readonly engine?: string;
}

/**
 * Creates and starts a sandbox. The caller must destroy the sandbox: with `await using`, or with `destroy` in
 * a `finally` block.
 */
export async function createSandbox(
  said: SandboxOptions & LibraryOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  await checkLibraryCall("createSandbox", { options: said, signal });
  const { engine: endpoint, ...options } = said;
  const { folders, engine } = await openLibrary(endpoint);
  const deps: CreateSandboxDeps = {
    engine,
    probes: probeCache(join(folders.state, "probes.json"), { clock: () => new Date() }),
    adapterId,
    newId: () => randomBytes(6).toString("hex"),
  };
  return addArgumentChecks(await create(deps, options, options, signal), checkLibraryCall);
}

/** Opens an existing sandbox by its container's name or ID. The first twelve characters of the ID suffice. */
export async function openSandbox(
  id: string,
  said: OpenSandboxOptions & LibraryOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  await checkLibraryCall("openSandbox", { id: id ?? null, options: said, signal });
  const { engine: endpoint, ...options } = said;
  const { engine } = await openLibrary(endpoint);
  return addArgumentChecks(await open(engine, id, options, signal), checkLibraryCall);
}

export interface BaseImageOptions extends LibraryOptions {
  /**
   * The names of the agents to install, as in `swarm image build --agents`. If null, the new image gets the
   * agents of the existing base image.
   */
  readonly agents?: readonly string[] | null;
  readonly onStep?: (step: string) => void;
}

/**
 * Returns swarm's base image, which is the default image of sandboxes. Builds the image unless it is up to
 * date.
 */
export async function buildBaseImage(
  said: BaseImageOptions = {},
  signal?: AbortSignal,
): Promise<EnsuredImage> {
  await checkLibraryCall("buildBaseImage", { options: said, signal });
  const { engine: endpoint, agents = null, onStep = () => {} } = said;
  const library = await openLibrary(endpoint);
  return ensureBaseImage(
    { ...imageBuildDeps(library), engine: library.engine },
    { agents, fresh: false },
    { onStep, onEvent: () => {} },
    signal,
  );
}

async function openLibrary(endpoint: string | undefined) {
  const env = process.env;
  const folders = userFolders(env);
  const locks = openLocks(env, "a program that uses swarm");
  const engines = createEngines(
    { env, folders, locks, clock: () => new Date() },
    async () => endpoint ?? null,
  );
  return { env, folders, locks, engine: shared(await engines.first()) };
}

const engineByEndpoint = new Map<string, ContainerEngine>();

/**
 * Returns the first client that this process has made for the engine's endpoint, so that all sandboxes at an
 * endpoint share one limit of concurrent starts.
 */
function shared(engine: ContainerEngine): ContainerEngine {
  const known = engineByEndpoint.get(engine.endpoint) ?? engine;
  engineByEndpoint.set(engine.endpoint, known);
  return known;
}
