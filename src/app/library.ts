import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ContainerEngine } from "../engine/engine.ts";
import { engineCandidates } from "../engine/engine-candidates.ts";
import type { EnsuredImage } from "../images/ensure-base-image.ts";
import { userFolders } from "../machine/user-folders.ts";
import type { checkLibraryCall } from "../sandbox/check-library-call.ts";
import type { SandboxOptions } from "../sandbox/create-sandbox.ts";
import type { OpenSandboxOptions } from "../sandbox/open-sandbox.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { adapterFile, adapterId, createEngineAccess, imagesFolder } from "./engine.ts";
import { createLockFactory } from "./locks.ts";

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
  await check("createSandbox", { options: said, signal });
  const { engine, ...options } = said;
  const library = await openLibrary(engine);
  const { createSandbox: create } = await import("../sandbox/create-sandbox.ts");
  return checked(await create(library, options, signal));
}

/** Opens an existing sandbox by its container's name or ID. The first twelve characters of the ID suffice. */
export async function openSandbox(
  id: string,
  said: OpenSandboxOptions & LibraryOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  await check("openSandbox", { id: id ?? null, options: said, signal });
  const { engine, ...options } = said;
  const library = await openLibrary(engine);
  const { openSandbox: open } = await import("../sandbox/open-sandbox.ts");
  return checked(await open(library.engine, id, options, signal));
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
  await check("buildBaseImage", { options: said, signal });
  const { engine, agents = null, onStep = () => {} } = said;
  const [library, { ensureBaseImage }, { imageSources }] = await Promise.all([
    openLibrary(engine),
    import("../images/ensure-base-image.ts"),
    import("../images/image-sources.ts"),
  ]);
  const { state } = userFolders(process.env);
  const cacheFolder = join(state, "downloads");
  return ensureBaseImage(
    {
      engine: library.engine,
      sources: imageSources({ env: process.env, imagesFolder, adapterFile, cacheFolder }),
      lock: await lockAt(join(state, "image.lock")),
    },
    { agents, fresh: false },
    { onStep, onEvent: () => {} },
    signal,
  );
}

const check: typeof checkLibraryCall = async (name, said) =>
  (await import("../sandbox/check-library-call.ts")).checkLibraryCall(name, said);

async function checked(sandbox: Sandbox): Promise<Sandbox> {
  const { addArgumentChecks } = await import("../sandbox/add-argument-checks.ts");
  return addArgumentChecks(sandbox, check);
}

async function openLibrary(endpoint: string | undefined) {
  const env = process.env;
  const folders = userFolders(env);
  const { privateEngine, openEngine } = createEngineAccess({
    ...{ env, stateFolder: folders.state, lockAt, gateAt },
  });
  const [{ findEngine }, { probeCache }, { parseProbe }, open] = await Promise.all([
    import("../engine/find-engine.ts"),
    import("../engine/probe-cache-file.ts"),
    import("./read-document.ts"),
    openEngine(),
  ]);
  const privateEndpoint = (await (await privateEngine()).status()).endpoint;
  const chosen = endpoint ?? null;
  const found = await findEngine({
    candidates: () => engineCandidates({ env, home: folders.home, chosen, privateEndpoint }),
    openEngine: remembered(open),
  });
  const clock = (): Date => new Date();
  return {
    engine: found.engine,
    probes: probeCache(join(folders.state, "probes.json"), { parseProbe, clock }),
    adapterId,
    newId: () => randomBytes(6).toString("hex"),
  };
}

const { lockAt, gateAt } = createLockFactory({ env: process.env, command: "a program that uses swarm" });

/**
 * The engine clients of this process, one per endpoint, so that all sandboxes at an endpoint share one limit
 * of concurrent starts.
 */
const engineByEndpoint = new Map<string, ContainerEngine>();

function remembered(open: (endpoint: string) => ContainerEngine): (endpoint: string) => ContainerEngine {
  return (endpoint) => {
    const engine = engineByEndpoint.get(endpoint) ?? open(endpoint);
    engineByEndpoint.set(endpoint, engine);
    return engine;
  };
}
