import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, inject, type TestAPI, vi } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { callEngine } from "../../../src/engine/docker/engine-http.ts";
import { type ContainerEngine, labels } from "../../../src/engine/engine.ts";
import type { ImageBuildEvent } from "../../../src/engine/images.ts";
import { baseImage, rootFilesystemImage } from "../../../src/engine/rules/base-image.ts";
import { createCommitReader } from "../../../src/git/commit-reader.ts";
import { type EnsuredProjectImage, ensureProjectImage } from "../../../src/images/build-project-image.ts";
import {
  type EnsuredImage,
  type EnsureImageDeps,
  ensureBaseImage,
} from "../../../src/images/ensure-base-image.ts";
import { imageOperations } from "../../../src/images/image-operations.ts";
import { imageSources } from "../../../src/images/image-sources.ts";
import type { ImageSources } from "../../../src/images/image-sources-port.ts";
import type { ImageProject, ProjectImageOptions } from "../../../src/images/plan-project-image.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { swarm } from "../../fakes/cli/swarm-command.ts";
import { adapterFile, dockerAt, openEngine, outputOf } from "../../fakes/engine/engine-at.ts";
import { test as base } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);
const docker = dockerAt(endpoint);
const { images } = await engine.open();
const imagesFolder = fileURLToPath(new URL("../../../images", import.meta.url));
const sources = imageSources({
  ...{ env: process.env, imagesFolder, adapterFile },
  cacheFolder: join(inject("stateFolder"), "downloads"),
});
const plainly: ProjectImageOptions = { ignoreScripts: false, buildNetwork: true };
const ownDockerfile = ".aimi/Dockerfile.sandbox";

// What the builder remembers would otherwise grow by a gigabyte with every run.
afterAll(async () => {
  const path = "/build/prune?keep-storage=3000000000";
  expect((await callEngine(endpoint, { path, method: "POST", timeoutMs: 120_000 })).status).toBe(200);
});

/** The builder remembers steps from run to run; what holds this is new to it. */
const novel = (): string => randomBytes(8).toString("hex");
const patience = (): AbortSignal => new AbortController().signal;

/** A small npm project whose only dependency is its own, so that no registry is asked. */
const npmTree = {
  "package.json": JSON.stringify({ name: "sample", private: true, workspaces: ["packages/*"] }),
  "package-lock.json": JSON.stringify({
    ...{ name: "sample", lockfileVersion: 3, requires: true },
    packages: {
      "": { name: "sample", workspaces: ["packages/*"] },
      "node_modules/lib": { resolved: "packages/lib", link: true },
      "packages/lib": { version: "1.0.0" },
    },
  }),
  "packages/lib/package.json": JSON.stringify({ name: "lib", version: "1.0.0", main: "index.js" }),
  "packages/lib/index.js": "module.exports = 'the library works';\n",
  "src/app.js": "console.log(require('lib'));\n",
  ".gitignore": "node_modules\n.env\n*.ignored\n",
};

interface Sample {
  readonly folder: string;
  readonly repository: string;
  readonly project: ImageProject;
  /** Another project, whose images go at the end, too. */
  other(repository: string): ImageProject;
}

const test: TestAPI<{ sample: Sample }> = base.extend<{ sample: Sample }>({
  sample: async ({ folder, repository }, use) => {
    const ids: string[] = [];
    const other = (where: string): ImageProject => {
      const id = randomBytes(16).toString("hex");
      ids.push(id);
      return { id, slug: "sample", commits: createCommitReader(where) };
    };
    for (const [path, content] of Object.entries(npmTree)) write(repository, path, content);
    commitAll(repository);
    await use({ folder, repository, project: other(repository), other });
    for (const id of ids) await removeImages(`${labels.project}=${id}`);
  },
});

function commitAll(repository: string, ...more: string[]): string {
  git(repository, "add", "--all");
  const identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"];
  git(repository, ...identity, "commit", "--quiet", "--allow-empty", "--message", "Go on", ...more);
  return git(repository, "rev-parse", "HEAD").trim();
}

async function removeImages(label: string): Promise<void> {
  for (const { Id } of await docker.listImages({ filters: JSON.stringify({ label: [label] }) }))
    await docker.getImage(Id).remove({ force: true });
}

async function imageIds(): Promise<string[]> {
  return (await docker.listImages()).map(({ Id }) => Id).sort();
}

async function baseNow(): Promise<EnsuredImage> {
  const found = await images.find(baseImage);
  if (!found) throw new Error("there is no base image");
  return { id: found.id, tag: baseImage, checksum: found.labels[labels.checksum] ?? "", built: false };
}

interface EnsureChanges {
  readonly project?: ImageProject;
  readonly deps?: Partial<EnsureImageDeps>;
  readonly options?: Partial<ProjectImageOptions>;
  readonly onEvent?: (event: ImageBuildEvent) => void;
  readonly signal?: AbortSignal;
}

interface Ensured extends EnsuredProjectImage {
  readonly events: readonly ImageBuildEvent[];
}

/** The image of a project as it is now, and what its build told. */
async function ensure(
  { folder, project: own }: Sample,
  { project = own, deps = {}, options = {}, onEvent = () => {}, signal = patience() }: EnsureChanges = {},
): Promise<Ensured> {
  const events: ImageBuildEvent[] = [];
  const image = await ensureProjectImage(
    { engine, sources, lock: lockIn(folder), project, ...deps },
    { base: await baseNow(), options: { ...plainly, ...options }, fresh: false },
    {
      onStep: () => {},
      onEvent: (event) => {
        events.push(event);
        onEvent(event);
      },
    },
    signal,
  );
  return { ...image, events };
}

/** By input, what differs from the newest image: of the base image, and of the project's. */
async function explain(
  { folder, project }: Sample,
  { deps = {}, options = {} }: EnsureChanges = {},
): Promise<string[][]> {
  const operations = imageOperations({
    ...{ engine, sources, lock: lockIn(folder), ...deps },
    project: async () => project,
  });
  const found = await operations.explain({ agents: [], ...plainly, ...options }, patience());
  return found.map(({ changes }) => changes.map(({ input }) => input));
}

function lockIn(folder: string): ReturnType<typeof kernelLock> {
  return kernelLock(join(folder, "image.lock"), "a test");
}

/** The same engine, which keeps the contexts of builds. */
function recording(): { engine: ContainerEngine; contexts: Buffer[] } {
  const contexts: Buffer[] = [];
  const build: typeof images.build = (spec, onEvent, signal) => {
    const chunks: Uint8Array[] = [];
    const at = contexts.push(Buffer.alloc(0)) - 1;
    const kept = async function* () {
      for await (const chunk of spec.context) {
        chunks.push(chunk);
        yield chunk;
      }
      contexts[at] = Buffer.concat(chunks);
    };
    return images.build({ ...spec, context: kept() }, onEvent, signal);
  };
  const open = async () => ({ ...(await engine.open()), images: { ...images, build } });
  return { contexts, engine: { ...engine, open } };
}

interface Steps {
  readonly anew: string[];
  readonly kept: string[];
}

const stepNames: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/git -c gc\.auto=0 fetch/, "workspace"],
  [/npm ci/, "install"],
  [/COPY .*deps/, "manifests"],
  [/install -d -o 1000/, "prepare"],
  [/WORKDIR/, "folder"],
];

/** Which steps were carried out anew, and which were there already: in our words, and as they stand in the Dockerfile. */
function stepsOf(events: readonly ImageBuildEvent[]): Steps & { readonly shown: Steps } {
  const steps: Steps = { anew: [], kept: [] };
  const shown: Steps = { anew: [], kept: [] };
  for (const event of events) {
    if (event.kind !== "done") continue;
    const [, text] = /^(?:\[.*?\] )?((?:RUN|COPY|ADD|WORKDIR) .*)/s.exec(event.step) ?? [];
    if (text === undefined) continue;
    const [, name = text] = stepNames.find(([pattern]) => pattern.test(text)) ?? [];
    steps[event.cached ? "kept" : "anew"].push(name);
    shown[event.cached ? "kept" : "anew"].push(text);
  }
  return { ...steps, shown };
}

/** What a shell says in a container of the image, without a network. */
async function sayIn(image: string, script: string, { user = "1000:1000" } = {}): Promise<string> {
  const container = await docker.createContainer({
    ...{ Image: image, Cmd: ["sh", "-euc", script], User: user, Labels: { [testLabel]: "image" } },
    ...{ HostConfig: { NetworkMode: "none", Init: true } },
  });
  try {
    await container.start();
    const { exit, text } = await outputOf(container);
    expect(exit, text).toBe(0);
    return text.trim();
  } finally {
    await container.remove({ force: true });
  }
}

describe("an image is built anew only as far as it must", () => {
  test("when nothing changed, nothing is built: the same image, and the builder is not called", async ({
    sample,
  }) => {
    const { engine: recorded, contexts } = recording();
    const first = await ensure(sample, { deps: { engine: recorded } });

    const second = await ensure(sample, { deps: { engine: recorded } });

    expect(first.built).toBe(true);
    expect(second).toEqual({ ...first, built: false, events: [] });
    expect(contexts).toHaveLength(1);
    expect(await explain(sample)).toEqual([[], []]);
  });

  const template = readFileSync(join(imagesFolder, "project.Dockerfile.template"), "utf8");
  const withTemplate = (text: string): Partial<EnsureImageDeps> => {
    const readImageFile: ImageSources["readImageFile"] = async (name) =>
      name === "project.Dockerfile.template" ? Buffer.from(text) : sources.readImageFile(name);
    return { sources: { ...sources, readImageFile } };
  };

  interface Case {
    readonly change: (repository: string, template: string) => EnsureChanges | undefined;
    readonly anew: readonly string[];
    readonly named: readonly string[];
  }
  const cases: Readonly<Record<string, Case>> = {
    "a source": {
      change(repository) {
        write(repository, "src/app.js", "// Another one.\n");
        commitAll(repository);
        return {};
      },
      anew: ["workspace"],
      named: ["commit"],
    },
    "the commit, amended with the same tree,": {
      change(repository) {
        commitAll(repository, "--amend", "--message", "Other words");
        return {};
      },
      anew: ["workspace"],
      named: ["commit"],
    },
    "the lockfile": {
      change(repository) {
        write(repository, "package-lock.json", `${npmTree["package-lock.json"]}\n`);
        commitAll(repository);
        return {};
      },
      anew: ["manifests", "install", "workspace"],
      named: ["commit", "file package-lock.json"],
    },
    "the template": {
      change: (_, text) => ({
        deps: withTemplate(text.replace("{{dependencies}}", "RUN echo more\n\n{{dependencies}}")),
      }),
      anew: ["RUN echo more", "manifests", "install", "workspace"],
      named: ["Dockerfile", "template"],
    },
    "--ignore-scripts": {
      change: () => ({ options: { ignoreScripts: true } }),
      anew: ["install", "workspace"],
      named: ["Dockerfile", "argument ignore-scripts"],
    },
    "--no-build-network": {
      change: () => ({ options: { buildNetwork: false } }),
      anew: ["mark", "prepare", "folder", "manifests", "install", "workspace"],
      named: ["argument build-network"],
    },
  };
  const allSteps = ["mark", "prepare", "folder", "manifests", "install", "workspace"];

  for (const [what, { change, anew, named }] of Object.entries(cases)) {
    test(`when ${what} changed, that is named, and every step before it is kept`, async ({ sample }) => {
      const mark = `RUN echo ${novel()}`;
      const marked = template.replace("{{prepare}}", `${mark}\n{{prepare}}`);
      const unchanged: EnsureChanges = { deps: withTemplate(marked) };
      const first = await ensure(sample, unchanged);

      const changes = { ...unchanged, ...change(sample.repository, marked) };
      const told = await explain(sample, changes);
      const second = await ensure(sample, changes);

      const steps = stepsOf(second.events);
      const names = (found: readonly string[]) => found.map((step) => (step === mark ? "mark" : step));
      expect(told).toEqual([[], named]);
      expect(names(steps.anew)).toEqual(anew);
      expect(names(steps.kept).sort()).toEqual(allSteps.filter((step) => !anew.includes(step)).sort());
      expect(second.id).not.toBe(first.id);
      expect(second.tag).not.toBe(first.tag);
      expect(await explain(sample, changes)).toEqual([[], []]);
    });
  }

  test("when the user's Dockerfile changed, that is named, and its earlier steps are kept", async ({
    sample,
  }) => {
    const [early, late, later] = [`RUN echo ${novel()}`, `RUN echo ${novel()}`, `RUN echo ${novel()}`];
    const writeOwn = (...lines: string[]): void => {
      write(sample.repository, ownDockerfile, `FROM ${baseImage}\n${lines.join("\n")}\n`);
      commitAll(sample.repository);
    };
    writeOwn(early, late);
    await ensure(sample);

    writeOwn(early, later);
    const told = await explain(sample);
    const { anew, kept } = stepsOf((await ensure(sample)).events).shown;

    expect(told).toEqual([[], ["Dockerfile", "commit", `file ${ownDockerfile}`]]);
    expect(kept).toContain(early);
    expect(anew).not.toContain(early);
    expect(anew).toContain(later);
    expect(anew.at(-1)).toMatch(/git -c gc\.auto=0 fetch/);
  });

  test("when the adapter changed, the base in its last steps and then the project, and both are named", async ({
    sample,
  }) => {
    const before = await baseNow();
    const withAdapter = async (): Promise<Partial<EnsureImageDeps>> => {
      const adapter = Buffer.concat([await sources.readAdapter(), Buffer.from(`\n// ${novel()}\n`)]);
      return { sources: { ...sources, readAdapter: async () => adapter } };
    };
    const made: EnsuredImage[] = [];
    const ensureBase = async (deps: Partial<EnsureImageDeps>) => {
      const events: ImageBuildEvent[] = [];
      const image = await ensureBaseImage(
        { engine, sources, lock: lockIn(sample.folder), ...deps },
        { agents: [], fresh: false },
        { onStep: () => {}, onEvent: (event) => void events.push(event) },
        patience(),
      );
      made.push(image);
      return { ...image, steps: stepsOf(events) };
    };
    try {
      // Once before, so that the steps that should be kept are there, whatever the builder remembers.
      await ensureBase(await withAdapter());
      await ensure(sample);
      const deps = await withAdapter();

      const told = await explain(sample, { deps });
      const rebuilt = await ensureBase(deps);
      const project = await ensure(sample, { deps });

      expect(told).toEqual([["adapter"], ["base"]]);
      expect(rebuilt.built).toBe(true);
      expect(rebuilt.steps.shown.anew).toEqual([
        expect.stringContaining("COPY adapter.mjs adapter gateway.mjs gateway /opt/aimi/"),
        expect.stringContaining("/opt/aimi/adapter probe"),
        "WORKDIR /workspace",
      ]);
      expect(rebuilt.steps.kept.length).toBeGreaterThan(5);
      expect(project.built).toBe(true);
      expect(stepsOf(project.events).kept).toEqual([]);
      expect(await explain(sample, { deps })).toEqual([[], []]);
    } finally {
      await images.tag(before.id, baseImage);
      await removeImages(`${labels.project}=${sample.project.id}`);
      for (const { checksum } of made) await images.remove(`${baseImage}-${checksum}`);
    }
    expect(await baseNow()).toEqual(before);
  });
});

describe("of two", () => {
  test("builds at once, one builds and the other waits and finds what was built", async ({ sample }) => {
    const { engine: recorded, contexts } = recording();

    const both = await Promise.all([1, 2].map(() => ensure(sample, { deps: { engine: recorded } })));

    expect(both.map(({ built }) => built).sort()).toEqual([false, true]);
    expect(both[0]?.id).toBe(both[1]?.id);
    expect(contexts).toHaveLength(1);
  });

  test("builds at once, the one that waits can be called off", async ({ sample }) => {
    const lock = lockIn(sample.folder);
    await using _held = await lock.acquire(1_000);
    const calledOff = new AbortController();
    const reason = new Error("enough");
    const { engine: recorded, contexts } = recording();

    const waiting = ensure(sample, {
      signal: calledOff.signal,
      deps: {
        engine: recorded,
        lock: {
          ...lock,
          acquire(waitMs, signal) {
            const held = lock.acquire(waitMs, signal);
            calledOff.abort(reason);
            return held;
          },
        },
      },
    });

    await expect(waiting).rejects.toThrow();
    expect(contexts).toEqual([]);
  });

  test("projects of one name at the same commit, each has its own image, and neither loses it", async ({
    sample,
  }) => {
    const copy = join(sample.folder, "copy");
    git(sample.folder, "clone", "--quiet", sample.repository, copy);
    const other = sample.other(copy);

    const ours = await ensure(sample);
    const theirs = await ensure(sample, { project: other });

    expect(theirs.built).toBe(true);
    expect(theirs.tag).not.toBe(ours.tag);
    expect(theirs.tag.split(":")[0]).toBe(ours.tag.split(":")[0]);
    expect(await ensure(sample)).toMatchObject({ id: ours.id, built: false });
    expect(await ensure(sample, { project: other })).toMatchObject({ id: theirs.id, built: false });
  });
});

/** Of this machine, with those that run in build steps. */
function processesSaying(word: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(word);
    } catch {
      // It ended while we looked.
      return false;
    }
  });
}

describe("a build that comes to nothing", () => {
  test("names the step and says its last words, and leaves nothing behind", async ({ sample }) => {
    const failing = `RUN echo ${novel()} >&2 && echo "the last words" >&2 && exit 7`;
    write(sample.repository, ownDockerfile, `FROM ${baseImage}\n${failing}\n`);
    commitAll(sample.repository);
    const before = await imageIds();

    await expect(ensure(sample)).rejects.toMatchObject({
      code: "IMAGE_BUILD_FAILED",
      details: {
        image: expect.stringMatching(/^aimi-sandbox-sample:[0-9a-f]{16}$/),
        step: expect.stringContaining(failing),
        reason: expect.stringMatching(/exit code: 7[\s\S]*the last words$/),
      },
    });

    expect(await imageIds()).toEqual(before);
    expect(await docker.listContainers({ all: true })).toEqual([]);
    expect(readdirSync(sample.folder).sort()).toEqual(["image.lock", "repository"]);
  });

  test("because an installation fails is told in the words of the package manager", async ({ sample }) => {
    const impossible = { ...JSON.parse(npmTree["package.json"]), name: novel(), engines: { node: ">=99" } };
    write(sample.repository, "package.json", JSON.stringify(impossible));
    write(sample.repository, ".npmrc", "engine-strict=true\n");
    commitAll(sample.repository);

    await expect(ensure(sample)).rejects.toMatchObject({
      code: "IMAGE_BUILD_FAILED",
      details: { step: expect.stringContaining("npm ci"), reason: expect.stringContaining("EBADENGINE") },
    });
  });

  test("because it is called off, ends in the engine too, and the next one builds", async ({ sample }) => {
    const seconds = `3${Number.parseInt(novel().slice(0, 7), 16)}`;
    write(sample.repository, ownDockerfile, `FROM ${baseImage}\nRUN echo it has begun; sleep ${seconds}\n`);
    commitAll(sample.repository);
    const before = await imageIds();
    const calledOff = new AbortController();
    const reason = new Error("enough");
    let sleepers = 0;

    const building = ensure(sample, {
      signal: calledOff.signal,
      onEvent: (event) => {
        if (event.kind !== "output" || !event.text.includes("it has begun")) return;
        sleepers = processesSaying(seconds).length;
        calledOff.abort(reason);
      },
    });

    await expect(building).rejects.toBe(reason);
    expect(sleepers).toBeGreaterThan(0);
    await vi.waitFor(() => expect(processesSaying(seconds)).toEqual([]), { timeout: 30_000 });
    expect(await imageIds()).toEqual(before);
    write(sample.repository, ownDockerfile, `FROM ${baseImage}\n`);
    commitAll(sample.repository);
    expect((await ensure(sample)).built).toBe(true);
  });

  test("because the clone is shallow, is refused before anything is built", async ({ sample }) => {
    const shallow = join(sample.folder, "shallow");
    git(sample.folder, "clone", "--quiet", "--depth=1", `file://${sample.repository}`, shallow);
    const { engine: recorded, contexts } = recording();

    await expect(
      ensure(sample, { project: sample.other(shallow), deps: { engine: recorded } }),
    ).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringMatching(/shallow clone.*git fetch --unshallow/),
    });
    expect(contexts).toEqual([]);
  });
});

describe("in the image", () => {
  test("the tree is the commit's, clean, with its history, odd names and programs, and dependencies work", async ({
    sample,
  }) => {
    const { repository } = sample;
    const names = ["a b.txt", "ünï/cödé 日本.txt", "two\nlines", '"quoted" \\ $(id)', "-dash", " both "];
    for (const name of names) write(repository, name, `of ${name}`);
    write(repository, "run.sh", "#!/bin/sh\necho it runs\n");
    write(repository, "tracked.ignored", "tracked though ignored\n");
    git(repository, "add", "--all");
    git(repository, "add", "--force", "tracked.ignored");
    git(repository, "config", "core.fileMode", "false");
    git(repository, "update-index", "--chmod=+x", "run.sh");
    const commit = commitAll(repository);
    const listed = git(repository, "ls-files", "--stage").trim();
    expect(listed).toContain("tracked.ignored");

    const { id, warnings } = await ensure(sample);

    const said = await sayIn(
      id,
      `git status --porcelain --untracked-files=all
       git rev-parse HEAD; git rev-list --count HEAD; git symbolic-ref --short HEAD
       ./run.sh; cat tracked.ignored; node src/app.js
       git fsck --strict --no-dangling 2>&1; find . -not -user agent
       git ls-files --stage`,
    );
    expect(said).toBe(
      [commit, "3", "workspace", "it runs", "tracked though ignored", "the library works", listed].join("\n"),
    );
    expect(warnings).toEqual([]);
  });

  test("of a repository with SHA-256, the tree is the commit's, too", async ({ sample }) => {
    const repository = join(sample.folder, "sha256");
    git(sample.folder, "init", "--quiet", "--object-format=sha256", repository);
    write(repository, "file.txt", novel());
    const commit = commitAll(repository);

    const { id } = await ensure(sample, { project: sample.other(repository) });

    expect(await sayIn(id, "git status --porcelain; git rev-parse HEAD")).toBe(commit);
  });

  test("what is untracked, ignored, staged or stashed is nowhere: not in the context, the history, the files or git's objects", async ({
    sample,
  }) => {
    const { repository } = sample;
    const canary = `canary-${novel()}`;
    write(repository, "stashed.txt", canary);
    git(
      repository,
      ...["-c", "user.name=T", "-c", "user.email=t@example.invalid"],
      ...["stash", "push", "--quiet", "--include-untracked"],
    );
    for (const path of [
      ".env",
      "packages/lib/.env",
      "untracked.txt",
      "node_modules/x/index.js",
      "staged.txt",
    ])
      write(repository, path, canary);
    write(repository, ".git/hooks/post-checkout", canary);
    git(repository, "config", "user.signingKey", canary);
    git(repository, "add", "staged.txt");
    const { engine: recorded, contexts } = recording();

    const { id, tag, events } = await ensure(sample, { deps: { engine: recorded } });

    // In two parts, since the command line of the search is a file as well.
    const pattern = `"${canary.slice(0, 10)}""${canary.slice(10)}"`;
    const found = await sayIn(
      id,
      `grep -rlsF ${pattern} / --exclude-dir=proc --exclude-dir=sys --devices=skip || echo nowhere
       grep -rlF "the library works" /workspace --exclude-dir=.git
       git config --global --add safe.directory /workspace
       git cat-file --batch-all-objects --batch | grep -caF ${pattern} || true
       git cat-file --batch-all-objects --batch-check | grep -c blob
       git for-each-ref --format="%(refname)"
       git cat-file --batch-all-objects --batch | grep -caF "the library works"`,
      { user: "0:0" },
    );
    const blobs = new Set(
      git(repository, "ls-tree", "-r", "--format=%(objectname)", "HEAD").trim().split("\n"),
    );
    expect(found.split("\n")).toEqual([
      ...["nowhere", "/workspace/packages/lib/index.js"],
      ...["0", String(blobs.size), "refs/heads/workspace", "1"],
    ]);
    const history = JSON.stringify(await docker.getImage(tag).history());
    expect(history).toContain("git -c gc.auto=0 fetch");
    expect(history).not.toContain(canary);
    expect(contexts[0]?.length).toBeGreaterThan(1_000);
    expect(contexts[0]?.includes(canary)).toBe(false);
    expect(JSON.stringify(events)).not.toContain(canary);
  });

  test("the tree is the same one from the classic builder, where there is no BuildKit", async ({
    sample,
  }) => {
    const { engine: recorded, contexts } = recording();
    const info: ContainerEngine["info"] = async () => ({ ...(await engine.info()), builder: "classic" });
    const deps = { engine: { ...recorded, info } };
    // Names and modes, owners and contents of everything.
    const sum = "tar --create --sort=name --mtime=@0 --exclude=./.git . | sha256sum";

    const classic = await ensure(sample, { deps });
    const buildkit = await ensure(sample, { project: sample.other(sample.repository) });

    const sums = [await sayIn(classic.id, sum), await sayIn(buildkit.id, sum)];
    expect(sums[0]).toMatch(/^[0-9a-f]{64}/);
    expect(sums[0]).toBe(sums[1]);
    expect(stepsOf(classic.events).anew).toContain("workspace");
    expect(
      await sayIn(
        classic.id,
        "git status --porcelain; ls /tmp/*.bundle 2>/dev/null || true; node src/app.js",
      ),
    ).toBe("the library works");
    expect(await ensure(sample, { deps })).toMatchObject({ id: classic.id, built: false });
    expect(contexts).toHaveLength(1);
  });

  test("submodules are not, and tracked files that look secret are: both are warned about", async ({
    sample,
  }) => {
    const { repository, folder } = sample;
    const inner = join(folder, "inner");
    git(folder, "clone", "--quiet", repository, inner);
    git(
      repository,
      ...["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "others/inner"],
    );
    write(repository, "deploy/server.pem", novel());
    commitAll(repository);

    const { warnings, id } = await ensure(sample);

    expect(warnings).toEqual([
      "the tracked file deploy/server.pem looks like a key or certificate, judging by its name, and the image will contain it",
      "others/inner is a submodule; the image will not contain its files",
    ]);
    expect(await sayIn(id, "git status --porcelain; ls -A others/inner; ls deploy")).toBe("server.pem");
  });
});

describe("the user's own Dockerfile", () => {
  test("makes the image from all that is tracked, whatever it is called and .dockerignore says, and only from that", async ({
    sample,
  }) => {
    const { repository } = sample;
    const names = ["a b.txt", "ünï/cödé 日本.txt", "two\nlines", "-dash"];
    for (const name of [...names, "Dockerfile", "workspace.bundle"]) write(repository, name, `of ${name}\n`);
    write(repository, "run.sh", "#!/bin/sh\necho it runs\n");
    write(repository, ".dockerignore", "*\n");
    write(
      repository,
      ownDockerfile,
      [
        `FROM ${baseImage} AS tools`,
        `RUN mkdir /made && echo ${novel()} > /made/by-hand`,
        "FROM tools",
        "COPY . /copied",
        "RUN /copied/run.sh > /made/said",
        "",
      ].join("\n"),
    );
    git(repository, "add", "--all");
    git(repository, "config", "core.fileMode", "false");
    git(repository, "update-index", "--chmod=+x", "run.sh");
    const commit = commitAll(repository);
    write(repository, "untracked.txt", "never");
    write(repository, "never.ignored", "never");

    const { id, tag } = await ensure(sample);

    const said = await sayIn(
      id,
      `id -un; git rev-parse HEAD; git status --porcelain --ignored; cat /made/said
       cd /copied; cat "a b.txt" "ünï/cödé 日本.txt" ./-dash ./two*; ls -A | grep -cE "never|untracked" || true
       cat /workspace/Dockerfile /workspace/workspace.bundle; /opt/aimi/node --version`,
    );
    // Containers' output is read byte by byte here.
    const asBytes = (text: string): string => Buffer.from(text).toString("latin1");
    expect(said.split("\n")).toEqual([
      ...["agent", commit, "it runs", "of a b.txt", asBytes("of ünï/cödé 日本.txt"), "of -dash"],
      ...["of two", "lines", "0", "of Dockerfile", "of workspace.bundle", expect.stringMatching(/^v24\./)],
    ]);
    expect(tag).toMatch(/^aimi-sandbox-sample:/);
  });

  test("without git is refused, and git is named", async ({ sample }) => {
    write(sample.repository, ownDockerfile, `FROM ${rootFilesystemImage}\n`);
    commitAll(sample.repository);
    const before = await imageIds();

    await expect(ensure(sample)).rejects.toMatchObject({
      code: "IMAGE_UNSUITABLE",
      details: { absent: ["git"], image: expect.stringMatching(/^aimi-sandbox-sample:/) },
      message: expect.stringContaining("it lacks git"),
    });
    expect(await imageIds()).toEqual(before);
  });

  test("without a FROM is refused with its line before anything is built", async ({ sample }) => {
    write(sample.repository, ownDockerfile, "# nothing\nRUN true\n");
    commitAll(sample.repository);

    await expect(ensure(sample)).rejects.toMatchObject({
      code: "DOCKERFILE_INVALID",
      message: expect.stringContaining(`${ownDockerfile}:2`),
    });
  });
});

test("pruning takes what nobody needs, and keeps the newest, what a container uses, and what others built upon ours", async ({
  sample,
}) => {
  const next = async (): Promise<Ensured> => {
    write(sample.repository, "src/app.js", `// ${novel()}\n`);
    commitAll(sample.repository);
    return ensure(sample);
  };
  const [unneeded, used, builtUpon] = [await next(), await next(), await next()];
  // Engines tell the time of an image in whole seconds.
  const { createdAt } = (await images.find(builtUpon.id)) ?? { createdAt: new Date() };
  await vi.waitFor(() => expect(Date.now() - createdAt.getTime()).toBeGreaterThan(1_000), { timeout: 5_000 });
  const newest = await next();
  const theirs = await ensure(sample, { project: sample.other(sample.repository) });
  const somebodys = `somebody-${novel()}:1`;
  const dockerfile = `FROM ${builtUpon.tag}\nRUN echo ${novel()} > /tmp/theirs\n`;
  const plain = { kind: "file", mode: 0o644, uid: 0, gid: 0 } as const;
  const { prune } = imageOperations({
    ...{ engine, sources, lock: lockIn(sample.folder) },
    project: async () => sample.project,
  });
  const tagsOf = (found: readonly { tags: readonly string[] }[]) => found.flatMap(({ tags }) => tags);
  const container = await docker.createContainer({
    ...{ Image: used.tag, Cmd: ["true"], Labels: { [testLabel]: "image" } },
  });
  try {
    await images.build(
      {
        context: packFiles([{ ...plain, path: "Dockerfile", content: Buffer.from(dockerfile) }]),
        ...{ tags: [somebodys], labels: {}, args: {}, builder: "buildkit", network: false, fresh: false },
      },
      () => {},
    );

    const planned = tagsOf(await prune({ all: false, dryRun: true }, patience()));
    const isKeptByDryRun = (await images.find(unneeded.tag)) !== null;
    const removed = tagsOf(await prune({ all: false, dryRun: false }, patience()));

    expect(isKeptByDryRun).toBe(true);
    expect(planned).toEqual(expect.arrayContaining([unneeded.tag, used.tag, builtUpon.tag]));
    expect(removed).toEqual(expect.arrayContaining([unneeded.tag, builtUpon.tag]));
    expect(removed).not.toContain(used.tag);
    for (const gone of [unneeded.tag, builtUpon.tag]) expect(await images.find(gone)).toBeNull();
    for (const kept of [used.tag, newest.tag, theirs.tag, somebodys, baseImage, rootFilesystemImage])
      expect(await images.find(kept), kept).not.toBeNull();
    expect(await sayIn(somebodys, "git status --porcelain; ls /tmp/theirs")).toBe("/tmp/theirs");
  } finally {
    await container.remove({ force: true });
    await images.remove(somebodys);
  }
});

test("the command builds, finds, explains by name, lists and prunes", async ({ sample }) => {
  const place = {
    folder: sample.repository,
    env: { HOME: sample.folder, SWARM_STATE_DIR: join(sample.folder, "state"), DOCKER_HOST: endpoint },
  };
  const run = async (...words: string[]) => {
    const { exit, stdout, stderr } = await swarm(place, "image", ...words, "--json");
    expect(exit, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const first = await run("build");
  const project = (await images.find(first.project.id))?.labels[labels.project];
  try {
    const second = await run("build");
    write(sample.repository, "package-lock.json", `${npmTree["package-lock.json"]}\n`);
    commitAll(sample.repository);
    const explained = await run("explain");
    const shown = await swarm(place, "image", "explain");

    expect(first).toMatchObject({ base: { built: false }, project: { built: true } });
    expect(second).toEqual({ base: first.base, project: { ...first.project, built: false } });
    expect(explained).toMatchObject([
      { image: baseImage, state: "up to date", changes: [] },
      {
        state: "would be built",
        changes: [
          { input: "commit", kind: "changed" },
          { input: "file package-lock.json", kind: "changed" },
        ],
      },
    ]);
    expect(shown.stdout).toMatch(/file package-lock\.json +[0-9a-f]{12} +changed/);
    expect(shown.stdout).toMatch(/file package\.json +[0-9a-f]{12}\s*$/m);

    const third = await run("build");
    const listed = await run("ls");
    const unneeded: { tags: string[] }[] = await run("prune", "--dry-run");
    const prunable = unneeded.flatMap(({ tags }) => tags);
    expect(third.project.built).toBe(true);
    expect(listed).toEqual(expect.arrayContaining([expect.objectContaining({ tags: [third.project.tag] })]));
    expect(prunable).toContain(first.project.tag);
    expect(prunable).not.toContain(third.project.tag);
  } finally {
    await removeImages(`${labels.project}=${project}`);
  }
});
