import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerEngine } from "../engine/engine.ts";
import type { FindEngineDeps } from "../engine/find-engine.ts";
import type { PrivateEngine } from "../engine/private-engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/lock.ts";
import { packageFolder } from "../machine/package-folder.ts";
import type { ContainerPauseLock } from "../machine/pause-lock.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import { type ExplainedSetting, settingsWithoutOrigins } from "../settings/rules/settings.ts";
import { once } from "../text/once.ts";

export interface EngineAccess {
  readonly privateEngine: () => Promise<PrivateEngine>;
  readonly openEngine: () => Promise<(endpoint: string) => ContainerEngine>;
}

export interface EngineAccessDeps {
  readonly env: EnvironmentVariables;
  readonly stateFolder: string;
  readonly lockAt: (file: string) => Promise<Lock>;
  readonly gateAt: (folder: string) => Promise<ContainerPauseLock>;
}

/**
 * Makes the objects that give access to container engines: to swarm's private engine, and to an engine at a
 * given endpoint.
 */
export function createEngineAccess({ env, stateFolder, lockAt, gateAt }: EngineAccessDeps): EngineAccess {
  const privateEngine = once(async (): Promise<PrivateEngine> => {
    const [engine, { callEngine }] = await Promise.all([
      import("../engine/private/private-engine.ts"),
      import("../engine/docker/engine-http.ts"),
    ]);
    const engineFolder = join(stateFolder, "engine");
    return engine.privateEngine({
      folder: engineFolder,
      env,
      lock: await lockAt(join(engineFolder, "engine.lock")),
      answers: (endpoint) =>
        callEngine(endpoint, { path: "/_ping", timeoutMs: 2_000 }).then(
          ({ status }) => status === 200,
          () => false,
        ),
    });
  });

  const openEngine = once(async (): Promise<(endpoint: string) => ContainerEngine> => {
    const [{ dockerEngine }, { parseProbe }] = await Promise.all([
      import("../engine/docker/docker-engine.ts"),
      import("./read-document.ts"),
    ]);
    const hostFunctions = async () => {
      const { killStartingPrograms } = await import("../machine/kill-starting-programs.ts");
      return { killStartingPrograms, gate: await gateAt(join(stateFolder, "gates")) };
    };
    return (endpoint) => dockerEngine(endpoint, { adapterFile, parseProbe, hostFunctions });
  });

  return { privateEngine, openEngine };
}

export interface EngineSearchDeps extends EngineAccess {
  readonly env: EnvironmentVariables;
  readonly home: string;
  readonly explainAllSettings: () => Promise<{ readonly settings: readonly ExplainedSetting[] }>;
}

/** The ways in which a command finds its container engine. */
export interface EngineSearch {
  readonly engineDeps: (how?: { readonly tolerant?: boolean }) => Promise<FindEngineDeps>;
  /** Returns the first container engine that answers, or throws if none does. */
  readonly findAny: () => Promise<ContainerEngine>;
  /**
   * Returns the engine at the given endpoint, without checking that it answers. If the endpoint is null,
   * returns the first engine that answers; null if none does.
   */
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
  /**
   * Returns the first engine that answers. If `recorded` is the endpoint of swarm's private engine and this
   * engine is stopped, starts it first.
   */
  readonly engineOrOwn: (recorded: string | null) => Promise<ContainerEngine>;
}

/**
 * Makes the object with which a command finds its container engine. Settings and environment variables decide
 * in which order engines are tried.
 */
export function createEngineSearch({
  env,
  home,
  privateEngine,
  openEngine,
  explainAllSettings,
}: EngineSearchDeps): EngineSearch {
  const engineDeps = async ({ tolerant = false } = {}): Promise<FindEngineDeps> => {
    const { engineCandidates } = await import("../engine/engine-candidates.ts");
    // An untrusted project cannot choose the engine, because these settings leave its choice out. With
    // `tolerant`, invalid settings are no error here: `doctor` reports them itself.
    const explained = await explainAllSettings().catch((error: unknown) => {
      if (tolerant && error instanceof SwarmError) return null;
      throw error;
    });
    const chosen = explained && settingsWithoutOrigins(explained.settings).engine;
    const { endpoint } = await (await privateEngine()).status();
    return {
      candidates: () => engineCandidates({ env, home, chosen, privateEndpoint: endpoint }),
      openEngine: await openEngine(),
    };
  };

  const engineOrOwn = async (recorded: string | null): Promise<ContainerEngine> => {
    const own = await privateEngine();
    const { state, endpoint } = await own.status();
    if (recorded === endpoint && state === "stopped")
      await own.start({ mayInstall: false, reset: false, onStep: () => {} });
    return findAny();
  };

  const findAny = async (): Promise<ContainerEngine> => {
    const { findEngine: find } = await import("../engine/find-engine.ts");
    return (await find(await engineDeps())).engine;
  };

  const findEngine = async (endpoint: string | null): Promise<ContainerEngine | null> => {
    if (endpoint !== null) return (await openEngine())(endpoint);
    try {
      return await findAny();
    } catch (error) {
      if (error instanceof SwarmError && error.code === "ENGINE_UNREACHABLE") return null;
      throw error;
    }
  };

  return { engineDeps, findAny, findEngine, engineOrOwn };
}

/** The path of the bundled adapter program. */
export const adapterFile: string = join(packageFolder, "dist", "adapter.mjs");

/** The path of the folder with the Dockerfiles and start scripts of swarm's images. */
export const imagesFolder: string = join(packageFolder, "images");

/** Returns the SHA-256 checksum of the bundled adapter, which identifies the adapter's version. */
export async function adapterId(): Promise<string> {
  return createHash("sha256")
    .update(await readFile(adapterFile))
    .digest("hex");
}
