import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import type { TestProject } from "vitest/node";
import writeFileAtomic from "write-file-atomic";
import { labels } from "../../src/engine/engine.ts";
import { baseImage } from "../../src/engine/rules/base-image.ts";
import { ensureBaseImage } from "../../src/images/ensure-base-image.ts";
import { imageSources } from "../../src/images/image-sources.ts";
import { kernelLock } from "../../src/machine/locks/kernel-lock.ts";
import { answers, engineAt, openEngine, startEngine } from "../fakes/engine/engine-at.ts";
import { testLabel } from "../fakes/test-label.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
// Images are kept from run to run; everything else must be gone at the end of each.
const folder = join(root, "node_modules", ".cache", "test-engine");

declare module "vitest" {
  interface ProvidedContext {
    /** Of an engine that has the base image, or will have it. */
    readonly endpoint: string;
    /** A file that is there as soon as the base image is, or cannot be made; it holds why not. */
    readonly imageFile: string;
    /** The state folder that this engine belongs to. */
    readonly stateFolder: string;
  }
}

/** One private engine with the base image for all tests that need one. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const privateEngine = engineAt(folder);
  const { endpoint } = await startEngine(privateEngine);
  await removeContainers(endpoint);
  const imageFile = join(folder, `base-image-${process.pid}`);
  // A killed run leaves its file, and process ids repeat in the pid namespaces of runs.
  rmSync(imageFile, { force: true });
  // Tests that need no engine are carried out meanwhile.
  const made = makeImage(endpoint)
    .then(() => "", String)
    .then((problem) => writeFileAtomic(imageFile, problem));
  provide("endpoint", endpoint);
  provide("imageFile", imageFile);
  provide("stateFolder", folder);

  return async () => {
    await made;
    rmSync(imageFile, { force: true });
    // Two projects have this engine in common; the first to end ends it.
    if (!(await answers(endpoint))) return;
    const left = await findLeftovers(endpoint);
    await privateEngine.stop({ onStep: () => {} });
    if (left.length > 0) throw new Error(`the tests left behind: ${left.join(", ")}`);
  };
}

async function makeImage(endpoint: string): Promise<void> {
  const say = (step: string): void => console.error(`test engine: ${step}`);
  await ensureBaseImage(
    {
      engine: openEngine(endpoint),
      sources: imageSources({
        env: process.env,
        imagesFolder: join(root, "images"),
        adapterFile: join(root, "dist", "adapter.mjs"),
        cacheFolder: join(folder, "downloads"),
      }),
      lock: kernelLock(join(folder, "image.lock"), "swarm's tests"),
    },
    { agents: [], fresh: false },
    { onStep: say, onEvent: (event) => event.kind === "started" && say(event.step.slice(0, 100)) },
  );
}

/** What a run that was killed has left; one that ended by itself was told of it. */
async function removeContainers(endpoint: string): Promise<void> {
  const docker = new Docker({ socketPath: endpoint.replace("unix://", "") });
  for (const { Id } of await docker.listContainers({ all: true }))
    await docker.getContainer(Id).remove({ force: true, v: true });
  for (const { Name } of (await docker.listVolumes()).Volumes ?? []) await docker.getVolume(Name).remove();
}

/** Everything of ours on the engine but the images that are kept on purpose. */
async function findLeftovers(endpoint: string): Promise<string[]> {
  const docker = new Docker({ socketPath: endpoint.replace("unix://", "") });
  const containers = await docker.listContainers({ all: true });
  const { Volumes } = await docker.listVolumes();
  const networks = await docker.listNetworks();
  const images = await docker.listImages({ all: false });
  const kept = [baseImage, "aimi-sandbox:root", "aimi-sandbox:probe"];
  const isKept = (tags: readonly string[]): boolean =>
    tags.some((tag) => kept.some((prefix) => tag.startsWith(prefix)));
  return [
    ...containers.map(({ Names }) => `container ${Names[0]}`),
    ...(Volumes ?? []).map(({ Name }) => `volume ${Name}`),
    ...networks
      .filter(({ Name }) => !["bridge", "host", "none"].includes(Name))
      .map(({ Name }) => `network ${Name}`),
    ...images
      .filter(
        ({ RepoTags, Labels }) =>
          (Labels?.[labels.sandbox] || Labels?.[testLabel]) &&
          (RepoTags ?? []).length > 0 &&
          !isKept(RepoTags ?? []),
      )
      .map(({ RepoTags }) => `image ${RepoTags?.[0]}`),
  ];
}
