import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EnsuredImage, ensureBaseImage } from "../../src/images/ensure-base-image.ts";
import { imageSources } from "../../src/images/image-sources.ts";
import { kernelLock } from "../../src/machine/locks/kernel-lock.ts";
import { adapterFile, openEngine } from "../fakes/engine/engine-at.ts";

const imagesFolder = fileURLToPath(new URL("../../images", import.meta.url));

/** Those that these tests run: one with a way of its own, and one that speaks the Agent Client Protocol. */
const agents = ["claude", "gemini"];

/**
 * The base image with agents in it, on the tests' engine. Its layers stay there from run to run, so that it is made once and
 * afterwards only put together.
 */
export function ensureAgentImage({
  endpoint,
  stateFolder,
}: {
  readonly endpoint: string;
  readonly stateFolder: string;
}): Promise<EnsuredImage> {
  return ensureBaseImage(
    {
      engine: openEngine(endpoint),
      sources: imageSources({
        ...{ env: process.env, imagesFolder, adapterFile },
        cacheFolder: join(stateFolder, "downloads"),
      }),
      lock: kernelLock(join(stateFolder, "image.lock"), "swarm's tests"),
    },
    { agents, fresh: false },
    { onStep: (step) => console.error(`agents' image: ${step}`), onEvent: () => {} },
  );
}
