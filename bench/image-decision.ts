import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine } from "../src/engine/engine.ts";
import type { ImageBuildEvent, ImageBuildSpec, Images } from "../src/engine/images.ts";
import { createCommitReader } from "../src/git/commit-reader.ts";
import { ensureProjectImage } from "../src/images/build-project-image.ts";
import { type EnsuredImage, ensureBaseImage } from "../src/images/ensure-base-image.ts";
import { type Bench, nothing, refuse, timed } from "./bench.ts";
import { buildReport, imageLock, sources } from "./bench-engine.ts";
import type { Comparison } from "./compare.ts";

const files = 10_000;

/** The decision that an image is up to date, against builders that find the same out by themselves. */
export const images: Bench = {
  title: "An image that is up to date",
  async prepare({ engine, folder, undo, isShort }) {
    if (engine === null) return nothing;
    const base = await ensureBaseImage(
      { engine, sources, lock: imageLock },
      { agents: [], fresh: false },
      buildReport,
    );
    const repository = join(folder, "many-files");
    makeRepository(repository);
    const project = { id: `bench-${process.pid}`, slug: "bench", commits: createCommitReader(repository) };
    const opened = await engine.open();
    const { engine: recorded, last } = recording(engine, opened);
    const ensure = (on: ContainerEngine, fresh = false): Promise<EnsuredImage> =>
      ensureProjectImage(
        { engine: on, sources, lock: imageLock, project },
        { base, options: { ignoreScripts: false, buildNetwork: true }, fresh },
        buildReport,
      );
    const { tag } = await ensure(recorded);
    undo.defer(async () => void (await opened.images.remove(tag)));

    const decide = (): Promise<number> =>
      timed(async () => refuse((await ensure(engine)).built, "the image was built"));
    const comparisons: Comparison[] = [
      {
        name: "an image is up to date, decisions per second",
        ...{ against: "BuildKit with nothing to do", goal: { sign: "≥", ratio: 10 } },
        note: `a context of ${files} files, for BuildKit ready in memory`,
        ours: async () => 1_000 / (await decide()),
        theirs: async () => 1_000 / (await timed(() => buildAgain(opened.images, last()))),
      },
    ];
    if (isShort) return { comparisons };
    let buildClassicAgain: (() => Promise<void>) | undefined;
    comparisons.push({
      name: "an image is up to date, decisions per second",
      ...{
        against: "the classic builder with nothing to do",
        goal: { sign: "≥", ratio: 100 },
        fewestRounds: 2,
      },
      note: `a context of ${files} files, ready in memory`,
      ours: async () => 1_000 / (await decide()),
      async theirs() {
        buildClassicAgain ??= await classicBuild(engine, async (on) => {
          const made = await ensure(on, true);
          undo.defer(async () => void (await opened.images.remove(made.tag)));
        });
        return 1_000 / (await timed(buildClassicAgain));
      },
    });
    return { comparisons };
  },
};

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
  readonly spec: ImageBuildSpec;
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
  const anew: ImageBuildEvent[] = [];
  await images.build({ ...spec, context: again(context) }, (event) => {
    if (event.kind === "done" && !event.cached && /\] (?:RUN|COPY) /.test(event.step)) anew.push(event);
  });
  refuse(anew.length > 0, "BuildKit had something to do");
}

/** The same image made by the classic builder, and how it finds out that there is nothing to do. */
async function classicBuild(
  engine: ContainerEngine,
  ensure: (on: ContainerEngine) => Promise<void>,
): Promise<() => Promise<void>> {
  const info = { ...(await engine.info()), builder: "classic" as const };
  const opened = await engine.open();
  const { engine: recorded, last } = recording({ ...engine, info: async () => info }, opened);
  await ensure(recorded);
  return async () => {
    const { spec, context } = last();
    await opened.images.build({ ...spec, fresh: false, context: again(context) }, () => {});
  };
}
