import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngines } from "../src/app/engines.ts";
import type { ContainerEngine } from "../src/engine/engine.ts";
import { SwarmError } from "../src/errors/errors.ts";
import { type EnsuredImage, ensureBaseImage } from "../src/images/ensure-base-image.ts";
import { imageSources } from "../src/images/image-sources.ts";
import type { ImageSources } from "../src/images/image-sources-port.ts";
import { kernelLock } from "../src/machine/locks/kernel-lock.ts";
import type { Lock } from "../src/machine/locks/lock.ts";
import { openLocks } from "../src/machine/locks/open-locks.ts";
import { adapterFile, imagesFolder } from "../src/machine/package-files.ts";
import { userFolders } from "../src/machine/user-folders.ts";

/** The tests' engine, whose base image is kept from run to run. */
const engineFolder = fileURLToPath(new URL("../node_modules/.cache/test-engine", import.meta.url));

export const sources: ImageSources = imageSources({
  env: process.env,
  adapterFile,
  imagesFolder,
  cacheFolder: join(engineFolder, "downloads"),
});
export const imageLock: Lock = kernelLock(join(engineFolder, "image.lock"), "bench");
export const buildReport: { readonly onStep: (step: string) => void; readonly onEvent: () => void } = {
  onStep: (step) => console.error(step),
  onEvent: () => {},
};

export interface BenchEngine {
  readonly engine: ContainerEngine;
  readonly base: EnsuredImage;
}

/** The engine with the base image: if it runs it is used, else started, and stopped again at the end. Null with the reason where there can be none. */
export async function openBenchEngine(
  undo: AsyncDisposableStack,
): Promise<BenchEngine | { readonly why: string }> {
  const { env } = process;
  const engines = createEngines(
    {
      env,
      folders: { ...userFolders(env), state: engineFolder },
      locks: openLocks(env, "bench"),
      clock: () => new Date(),
    },
    async () => null,
  );
  try {
    const own = await engines.private();
    const before = await own.status();
    const { endpoint } = await own.start({ mayInstall: false, onStep: () => {}, reset: false });
    if (before.state !== "running") undo.defer(async () => void (await own.stop({ onStep: () => {} })));
    const engine = await engines.at(endpoint);
    const base = await ensureBaseImage(
      { engine, sources, lock: imageLock },
      { agents: [], fresh: false },
      buildReport,
    );
    return { engine, base };
  } catch (error) {
    if (error instanceof SwarmError) return { why: error.message };
    throw error;
  }
}
