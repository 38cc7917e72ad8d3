import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adapterFile, composeEngine, imagesFolder } from "../src/compose-engine.ts";
import { SwarmError } from "../src/domain/errors.ts";
import { commitReader } from "../src/host/commit-reader.ts";
import { imageSources } from "../src/host/image-sources.ts";
import { ensureProjectImage } from "../src/image/build-project-image.ts";
import { type EnsuredImage, ensureBaseImage } from "../src/image/ensure-base-image.ts";
import type { ContainerEngine } from "../src/ports/engine.ts";
import type { BuildEvent, BuildSpec, Images } from "../src/ports/images.ts";
import { kernelLock } from "../src/state/kernel-lock.ts";
import type { Comparison } from "./compare.ts";

/** The tests' engine, whose base image is kept from run to run. */
const engineFolder = fileURLToPath(new URL("../node_modules/.cache/test-engine", import.meta.url));
const files = 10_000;

/** The decision that an image is up to date, against BuildKit that finds the same out by itself. */
export async function imageDecision(
  folder: string,
): Promise<
  AsyncDisposable & { readonly comparisons: readonly Comparison[]; readonly engine: ContainerEngine | null }
> {
  await using undo = new AsyncDisposableStack();
  const engine = await openEngine(undo).catch((error: unknown) => {
    if (!(error instanceof SwarmError)) throw error;
    console.error(`The decision about images is left out: ${error.message}`);
    return null;
  });
  if (!engine) return { comparisons: [], engine: null, [Symbol.asyncDispose]: async () => {} };
  const sources = imageSources({
    ...{ env: process.env, adapterFile, imagesFolder },
    cacheFolder: join(engineFolder, "downloads"),
  });
  const lock = kernelLock(join(engineFolder, "image.lock"), "bench");
  const report = { onStep: (step: string) => console.error(step), onEvent: () => {} };
  const base = await ensureBaseImage({ engine, sources, lock }, { agents: [], fresh: false }, report);

  const repository = join(folder, "many-files");
  makeRepository(repository);
  const project = { id: `bench-${process.pid}`, slug: "bench", commits: commitReader(repository) };
  const opened = await engine.open();
  const { engine: recorded, last } = recording(engine, opened);
  const ensure = (on: ContainerEngine): Promise<EnsuredImage> =>
    ensureProjectImage(
      { engine: on, sources, lock, project },
      { base, options: { ignoreScripts: false, buildNetwork: true }, fresh: false },
      report,
    );
  const { tag } = await ensure(recorded);
  undo.defer(async () => void (await opened.images.remove(tag)));

  const held = undo.move();
  return {
    engine,
    comparisons: [
      {
        name: "an image is up to date",
        against: "BuildKit with nothing to do",
        goal: { sign: "≤", ratio: 0.1 },
        note: `milliseconds in process, a context of ${files} files, for BuildKit ready in memory`,
        ours: () => timed(async () => refuse((await ensure(engine)).built, "the image was built")),
        theirs: () => timed(() => buildAgain(opened.images, last())),
      },
    ],
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The engine if it runs; else it is started, and stopped again at the end. */
async function openEngine(undo: AsyncDisposableStack): Promise<ContainerEngine> {
  const composed = composeEngine({
    ...{ env: process.env, stateFolder: engineFolder },
    lockAt: async (file) => kernelLock(file, "bench"),
  });
  const engine = await composed.privateEngine();
  const before = await engine.status();
  const { endpoint } = await engine.start({ mayInstall: false, onStep: () => {}, reset: false });
  if (before.state !== "running") undo.defer(async () => void (await engine.stop({ onStep: () => {} })));
  return (await composed.openEngine())(endpoint);
}

/** With a Dockerfile of its own, for which all files are in the context. */
function makeRepository(repository: string): void {
  for (let index = 0; index < files; index += 1) {
    const place = join(repository, "src", String(index % 100));
    if (index < 100) mkdirSync(place, { recursive: true });
    writeFileSync(join(place, `${index}.ts`), `export const value${index} = ${index};\n`.repeat(10));
  }
  mkdirSync(join(repository, ".aimi"));
  writeFileSync(join(repository, ".aimi", "Dockerfile.sandbox"), "FROM aimi-sandbox:base\nCOPY . /copied\n");
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: repository });
  git("init", "--quiet");
  git("add", "--all");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "commit", "--quiet", "-m", "Begin");
}

interface Recorded {
  readonly spec: BuildSpec;
  readonly context: readonly Uint8Array[];
}

/** The engine, which keeps what the last build was given. */
function recording(
  engine: ContainerEngine,
  opened: Awaited<ReturnType<ContainerEngine["open"]>>,
): { engine: ContainerEngine; last: () => Recorded } {
  let last: Recorded | undefined;
  const build: Images["build"] = async (spec, onEvent, signal) => {
    const context = await Array.fromAsync(spec.context);
    last = { spec, context };
    return opened.images.build({ ...spec, context: again(context) }, onEvent, signal);
  };
  return {
    engine: { ...engine, open: async () => ({ ...opened, images: { ...opened.images, build } }) },
    last() {
      if (!last) throw new Error("nothing was built");
      return last;
    },
  };
}

async function* again(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function buildAgain(images: Images, { spec, context }: Recorded): Promise<void> {
  const anew: BuildEvent[] = [];
  await images.build({ ...spec, context: again(context) }, (event) => {
    if (event.kind === "done" && !event.cached && /\] (?:RUN|COPY) /.test(event.step)) anew.push(event);
  });
  refuse(anew.length > 0, "BuildKit had something to do");
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function refuse(condition: boolean, what: string): void {
  if (condition) throw new Error(`the comparison is not one: ${what}`);
}
