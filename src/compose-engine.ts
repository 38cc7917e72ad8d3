import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "./domain/once.ts";
import type { Environment } from "./host/user-folders.ts";
import type { ContainerEngine } from "./ports/engine.ts";
import type { Lock } from "./ports/lock.ts";
import type { PrivateEngine } from "./ports/private-engine.ts";

export interface ComposedEngine {
  readonly privateEngine: () => Promise<PrivateEngine>;
  readonly openEngine: () => Promise<(endpoint: string) => ContainerEngine>;
}

export interface ComposeEngineDeps {
  readonly env: Environment;
  readonly stateFolder: string;
  readonly lockAt: (file: string) => Promise<Lock>;
}

/** Builds what reaches engines: the private one, and any at an endpoint. */
export function composeEngine({ env, stateFolder, lockAt }: ComposeEngineDeps): ComposedEngine {
  const privateEngine = once(async (): Promise<PrivateEngine> => {
    const [engine, { callEngine }] = await Promise.all([
      import("./host/private-engine.ts"),
      import("./docker/engine-http.ts"),
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
      import("./docker/docker-engine.ts"),
      import("./schema/read-document.ts"),
    ]);
    return (endpoint) => dockerEngine(endpoint, { adapterFile, parseProbe });
  });

  return { privateEngine, openEngine };
}

/** The bundled in-container program, from `src/` and from the bundle alike. */
export const adapterFile: string = fileURLToPath(
  new URL(import.meta.url.includes("/src/") ? "../dist/adapter.mjs" : "./adapter.mjs", import.meta.url),
);

/** What images are built from. */
export const imagesFolder: string = fileURLToPath(new URL("../images", import.meta.url));

/** Names the in-container program by its content. */
export async function adapterId(): Promise<string> {
  return createHash("sha256")
    .update(await readFile(adapterFile))
    .digest("hex");
}
