import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { readArchive } from "../../../src/archive/read-archive.ts";
import { type ContainerEngine, labels } from "../../../src/engine/engine.ts";
import type { ImageBuildSpec, ImageFacts } from "../../../src/engine/images.ts";
import type { CommitReader, TrackedFile } from "../../../src/git/commit-reader-port.ts";
import { ensureProjectImage } from "../../../src/images/build-project-image.ts";
import { baseImageInputs } from "../../../src/images/ensure-base-image.ts";
import { imageOperations } from "../../../src/images/image-operations.ts";
import type { ImageSources } from "../../../src/images/image-sources-port.ts";
import {
  computeImageLookupKey,
  type ImageProject,
  type ProjectImageOptions,
  planProjectImage,
} from "../../../src/images/plan-project-image.ts";
import { checksumOfInputs, findInputChanges } from "../../../src/images/rules/image-inputs.ts";
import type { Lock } from "../../../src/machine/locks/lock.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { trees } from "./sample-trees.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const imagesFolder = fileURLToPath(new URL("../../../images", import.meta.url));
const base = { id: "sha256:base", tag: "aimi-sandbox:base", checksum: "0123456789abcdef", built: false };
const options: ProjectImageOptions = { ignoreScripts: false, buildNetwork: true };
const silently = { onStep: () => {}, onEvent: () => {} };

type Tree = Readonly<Record<string, string | TrackedFile["kind"]>>;

interface FakeCommits extends CommitReader {
  /** Which contents were asked for, each time. */
  readonly asked: string[][];
}

/** A commit in memory; a file whose text is the name of a kind is of that kind. */
function commitsOf(
  tree: Tree,
  { message = "Begin", shallow = false, bundleFile = "/dev/null" } = {},
): FakeCommits {
  const asked: string[][] = [];
  const textById = new Map(Object.values(tree).map((text) => [sha256(text).slice(0, 40), text]));
  return {
    asked,
    head: async () => sha256(JSON.stringify([message, tree])).slice(0, 40),
    files: async () =>
      Object.entries(tree).map(([path, text]): TrackedFile => {
        const kind = text === "program" || text === "link" || text === "submodule" ? text : "file";
        return { path, id: sha256(text).slice(0, 40), kind };
      }),
    contents: async (ids) => {
      asked.push([...ids]);
      return ids.map((id) => Buffer.from(textById.get(id) ?? ""));
    },
    isShallow: async () => shallow,
    bundle: async () => ({ file: bundleFile, [Symbol.asyncDispose]: async () => {} }),
  };
}

function projectOf(tree: Tree, changes: Partial<ImageProject> & { message?: string } = {}): ImageProject {
  const { message, ...others } = changes;
  return { id: "p1", slug: "sample", commits: commitsOf(tree, message ? { message } : {}), ...others };
}

/** Our own files, but for those that a test gives. */
function sourcesWith(files: Readonly<Record<string, string>> = {}, adapter = "adapter"): ImageSources {
  return {
    readImageFile: async (name) => Buffer.from(files[name] ?? readFileSync(join(imagesFolder, name))),
    readAdapter: async () => Buffer.from(adapter),
    readGateway: async () => Buffer.from("gateway"),
    readCertificates: async () => [],
    download: () => Promise.reject(new Error("nothing is to be fetched")),
    // biome-ignore lint/correctness/useYield: nobody is to ask for it.
    makeRootFilesystem: async function* () {
      throw new Error("nothing is to be made");
    },
  };
}

async function planOf({
  tree = trees.npm as Tree,
  project = projectOf(tree),
  sources = sourcesWith(),
  builder = "buildkit" as "buildkit" | "classic",
  baseId = base.id,
  chosen = options,
} = {}) {
  const commit = (await project.commits.head()) ?? "";
  return planProjectImage(
    { project, sources },
    { commit, builder, base: { ...base, id: baseId }, options: chosen },
  );
}

const template = readFileSync(join(imagesFolder, "project.Dockerfile.template"), "utf8");
const own = ".aimi/Dockerfile.sandbox";
const ownTree: Tree = { ...trees.npm, [own]: "FROM aimi-sandbox:base\n" };

describe("what goes into a project's image", () => {
  test.each([
    ["nothing that went in", { tree: { ...trees.npm } }, []],
    ["a source", { tree: { ...trees.npm, "src/index.js": "2" } }, ["commit"]],
    [
      "only the commit, with the same tree",
      { project: projectOf(trees.npm, { message: "Amended" }) },
      ["commit"],
    ],
    [
      "a lockfile",
      { tree: { ...trees.npm, "package-lock.json": "{ }" } },
      ["commit", "file package-lock.json"],
    ],
    ["a manifest", { tree: { ...trees.npm, "package.json": "{}" } }, ["commit", "file package.json"]],
    ["a new manifest", { tree: { ...trees.npm, ".npmrc": "fund=false\n" } }, ["commit", "file .npmrc"]],
    [
      "another manager's lockfile",
      { tree: { ...trees.npm, "requirements.txt": "idna\n" } },
      ["Dockerfile", "commit", "file requirements.txt"],
    ],
    [
      "the template",
      { sources: sourcesWith({ "project.Dockerfile.template": `${template}LABEL a=b\n` }) },
      ["Dockerfile", "template"],
    ],
    ["the base image", { baseId: "sha256:other" }, ["base"]],
    [
      "--ignore-scripts",
      { chosen: { ...options, ignoreScripts: true } },
      ["Dockerfile", "argument ignore-scripts"],
    ],
    ["--no-build-network", { chosen: { ...options, buildNetwork: false } }, ["argument build-network"]],
    ["the builder", { builder: "classic" as const }, ["Dockerfile"]],
    ["the project, as of a copy", { project: projectOf(trees.npm, { id: "p2" }) }, ["project"]],
    [
      "a Dockerfile of the user's own",
      { tree: ownTree },
      ["Dockerfile", "commit", `file ${own}`, "file package-lock.json", "file package.json", "template"],
    ],
  ])("changes by %s, and that is what is named", async (_, changes, expected) => {
    const [before, after] = [await planOf(), await planOf(changes)];

    expect(findInputChanges(before.inputs, after.inputs).map(({ input }) => input)).toEqual(expected);
    expect(after.checksum === before.checksum).toBe(expected.length === 0);
    expect(after.checksum).toBe(checksumOfInputs(after.inputs, sha256));
    expect(after.repository).toBe("aimi-sandbox-sample");
  });

  test("changes by the user's Dockerfile, and then the template does not count", async () => {
    const before = await planOf({ tree: ownTree });
    const edited = await planOf({ tree: { ...ownTree, [own]: "FROM aimi-sandbox:base\nRUN true\n" } });
    const others = await planOf({
      tree: ownTree,
      sources: sourcesWith({ "project.Dockerfile.template": "another one" }),
    });

    expect(findInputChanges(before.inputs, edited.inputs).map(({ input }) => input)).toEqual([
      ...["Dockerfile", "commit", `file ${own}`],
    ]);
    expect(others.checksum).toBe(before.checksum);
    expect(before.layers).toBeNull();
    expect(before.dockerfile).toContain("COPY --from=aimi-base");
  });

  test("is built from the base by its checksum, while the base's id decides", async () => {
    const plan = await planOf();

    expect(plan.dockerfile).toContain(`FROM aimi-sandbox:base-${base.checksum}\n`);
    expect(plan.inputs["base"]).toBe(base.id);
  });

  test("is read from manifests and nothing else, and one too large to be read is told", async () => {
    const tree: Tree = {
      ...trees.npm,
      "package.json": `{"name":"${"x".repeat(1_100_000)}"}`,
      "src/large.js": "source",
    };
    const project = projectOf(tree);

    const { warnings, layers } = await planOf({ project });

    const asked = (project.commits as FakeCommits).asked.flat();
    expect(asked).toContain(sha256(tree["package-lock.json"] ?? "").slice(0, 40));
    expect(asked).not.toContain(sha256("source").slice(0, 40));
    expect(layers).toEqual([]);
    expect(warnings).toContainEqual(
      expect.stringContaining("package.json: the file is not a JSON object, or is too large"),
    );
  });

  test("is nothing of a shallow clone, and the reason says what to do", async () => {
    const project = projectOf({}, { commits: commitsOf({}, { shallow: true }) });

    await expect(planOf({ project })).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringMatching(/shallow clone.*git fetch --unshallow/),
    });
  });
});

describe("what a person should know", () => {
  test("is which tracked files look secret, at most twenty, and which are submodules", async () => {
    const keys = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`keys/${index}.pem`, "x"]));

    const { warnings } = await planOf({
      tree: { ".env": "A=1", sub: "submodule", ".env.example": "A=", ...keys },
    });

    expect(warnings[0]).toBe(
      "the tracked file .env looks like an environment file, and the image will contain it",
    );
    expect(warnings.filter((warning) => warning.includes("looks like"))).toHaveLength(20);
    expect(warnings).toContain("6 more tracked files look like secrets");
    expect(warnings).toContain("sub is a submodule; the image will not contain its files");
    expect(warnings.join()).not.toContain(".env.example");
  });

  test("is that a Dockerfile which is a link is not used", async () => {
    const { warnings, layers } = await planOf({ tree: { ...trees.npm, [own]: "link" } });

    expect(warnings).toContain(`${own} is not a regular file, so swarm does not use it`);
    expect(layers).toHaveLength(1);
  });
});

test("the quick answer is another one for another commit, base, option, template or swarm", async () => {
  const key = ({ commit = "c", id = base.id, chosen = options, files = {} } = {}) =>
    computeImageLookupKey({ sources: sourcesWith(files) }, { commit, base: { id }, options: chosen });

  const keys = await Promise.all([
    key(),
    key({ commit: "d" }),
    key({ id: "sha256:other" }),
    key({ chosen: { ...options, ignoreScripts: true } }),
    key({ chosen: { ...options, buildNetwork: false } }),
    key({ files: { "project.Dockerfile.template": "other" } }),
    key({ files: { "../package.json": "other" } }),
  ]);

  expect(await key()).toBe(keys[0]);
  expect(new Set(keys).size).toBe(keys.length);
});

test.each<[string, { files?: Record<string, string>; adapter?: string; agents?: string[] }, string[]]>([
  ["base.Dockerfile", { files: { "base.Dockerfile": "FROM other" } }, ["Dockerfile"]],
  ["the adapter", { adapter: "other" }, ["adapter"]],
  ["its launcher", { files: { adapter: "#!/bin/sh\n" } }, ["adapter"]],
  ["the agents", { agents: ["claude", "codex"] }, ["agents"]],
])(
  "the base image changes by %s, and it is named",
  async (_, { files = {}, adapter, agents = [] }, expected) => {
    const before = await baseImageInputs({ engine: fakeEngine(), sources: sourcesWith() }, { agents: [] });
    const after = await baseImageInputs(
      { engine: fakeEngine(), sources: sourcesWith(files, adapter) },
      { agents },
    );

    expect(findInputChanges(before, after).map(({ input }) => input)).toEqual(expected);
  },
);

test("the base image is the same in whatever order, and however often, its agents are named", async () => {
  const inputsOf = (agents: readonly string[]) =>
    baseImageInputs({ engine: fakeEngine(), sources: sourcesWith() }, { agents });

  expect(await inputsOf(["codex", "claude", "codex"])).toEqual(await inputsOf(["claude", "codex"]));
  await expect(inputsOf(["hal"])).rejects.toMatchObject({ code: "INVALID_VALUE" });
});

interface Ensuring {
  readonly engine: ContainerEngine;
  readonly built: ImageBuildSpec[];
  readonly contexts: Map<string, string>[];
}

/** An engine in memory that keeps what builds were given. */
function ensuring(): Ensuring {
  const inner = fakeEngine();
  const built: ImageBuildSpec[] = [];
  const contexts: Map<string, string>[] = [];
  const limits = { entries: 10_000, bytes: 100_000_000, nameBytes: 1_000 };
  return {
    built,
    contexts,
    engine: {
      ...inner,
      open: async () => {
        const opened = await inner.open();
        return {
          ...opened,
          images: {
            ...opened.images,
            build: async (spec, onEvent, signal) => {
              const context = new Map<string, string>();
              for await (const { path, content } of readArchive(spec.context, { limits }))
                context.set(path, Buffer.concat(await Array.fromAsync(content)).toString());
              built.push(spec);
              contexts.push(context);
              return opened.images.build({ ...spec, context: packFiles([]) }, onEvent, signal);
            },
          },
        };
      },
    },
  };
}

const freeLock: Lock = {
  acquire: async () => ({ confirm: async () => {}, [Symbol.asyncDispose]: async () => {} }),
  holder: async () => null,
};

function ensure(engine: ContainerEngine, project: ImageProject, changes: { sources?: ImageSources } = {}) {
  return ensureProjectImage(
    { engine, sources: sourcesWith(), lock: freeLock, project, ...changes },
    { base, options, fresh: false },
    silently,
  );
}

const imageTest = test.extend<{ bundleFile: string }>({
  bundleFile: async ({ folder }, use) => use(write(folder, "bundle", "the bundle")),
});

describe("a project's image in memory", () => {
  imageTest(
    "is built once, and found again without reading any file of the commit",
    async ({ bundleFile }) => {
      const { engine, built } = ensuring();
      const commits = commitsOf(trees.npm, { bundleFile });
      const first = await ensure(engine, projectOf({}, { commits }));
      const asked = commits.asked.length;

      const second = await ensure(engine, projectOf({}, { commits }));

      expect(first).toMatchObject({ built: true, tag: `aimi-sandbox-sample:${first.checksum}` });
      expect(second).toEqual({ ...first, built: false });
      expect(built).toHaveLength(1);
      expect(commits.asked).toHaveLength(asked);
    },
  );

  imageTest("is found by its checksum where only swarm itself is another version", async ({ bundleFile }) => {
    const { engine, built } = ensuring();
    const project = projectOf({}, { commits: commitsOf(trees.npm, { bundleFile }) });
    const first = await ensure(engine, project);

    const second = await ensure(engine, project, { sources: sourcesWith({ "../package.json": "{}" }) });

    expect(second).toEqual({ ...first, built: false });
    expect(built).toHaveLength(1);
  });

  imageTest("is not shared with a copy of the repository that has the same name", async ({ bundleFile }) => {
    const { engine } = ensuring();
    const commits = commitsOf(trees.npm, { bundleFile });
    const one = await ensure(engine, projectOf({}, { commits }));

    const other = await ensure(engine, projectOf({}, { commits, id: "p2" }));

    expect(other.built).toBe(true);
    expect(other.tag).not.toBe(one.tag);
    expect(await ensure(engine, projectOf({}, { commits }))).toEqual({ ...one, built: false });
  });

  imageTest(
    "is never the one that somebody built upon it, whatever labels that inherited",
    async ({ bundleFile }) => {
      const { engine } = ensuring();
      const project = projectOf({}, { commits: commitsOf(trees.npm, { bundleFile }) });
      const { images } = await engine.open();
      const { id } = await ensure(engine, project);
      const inherited = (await images.find(id))?.labels ?? {};
      await images.build({ ...buildOf(inherited), tags: ["somebody:1"] }, () => {});
      await images.remove(id);

      const again = await ensure(engine, project);

      expect(again.built).toBe(true);
      expect(again.tag).toMatch(/^aimi-sandbox-sample:/);
    },
  );

  imageTest(
    "has in its context the manifests, and in that of a user's Dockerfile everything tracked, a few reads in all",
    async ({ bundleFile }) => {
      const { engine, contexts } = ensuring();
      const many = Object.fromEntries(
        Array.from({ length: 3_000 }, (_, index) => [`src/${index}.js`, `${index}`]),
      );
      const tree: Tree = { ...many, Dockerfile: "theirs", "away.txt": "link", "package.json": "{}" };
      await ensure(engine, projectOf({}, { commits: commitsOf(trees.npm, { bundleFile }) }));
      const commits = commitsOf({ ...tree, [own]: "FROM x\n" }, { bundleFile });

      await ensure(engine, projectOf({}, { commits }));

      const [generated, whole] = contexts;
      expect([...(generated?.keys() ?? [])].sort()).toEqual([
        ...["Dockerfile", "deps/0/package-lock.json", "deps/0/package.json", "workspace.bundle"],
      ]);
      expect(whole?.size).toBe(3_000 + 4);
      expect(whole?.get("src/2999.js")).toBe("2999");
      expect(whole?.get("Dockerfile")).toMatch(/^FROM x AS aimi-user/);
      expect(whole?.get("workspace.bundle")).toBe("the bundle");
      expect(commits.asked.length).toBeLessThan(30);
    },
  );

  imageTest(
    "is explained as up to date when it is the one of this commit, though a newer one is there",
    async ({ bundleFile }) => {
      const { engine } = ensuring();
      const at = (tree: Tree): ImageProject => projectOf({}, { commits: commitsOf(tree, { bundleFile }) });
      const deps = { engine, sources: sourcesWith(), lock: freeLock };
      const { images } = await engine.open();
      const inputs = { ...(await baseImageInputs(deps, { agents: [] })), root: "r" };
      const baseLabels = { [labels.inputs]: JSON.stringify(inputs), [labels.checksum]: base.checksum };
      const id = await images.build({ ...buildOf(baseLabels), tags: ["aimi-sandbox:base"] }, () => {});
      const request = { base: { ...base, id }, options, fresh: false };
      for (const tree of [trees.npm, trees.pnpm])
        await ensureProjectImage({ ...deps, project: at(tree) }, request, silently);

      const explain = (tree: Tree) =>
        imageOperations({ ...deps, project: async () => at(tree) }).explain(
          { agents: [], ...options },
          new AbortController().signal,
        );

      expect((await explain(trees.npm)).map(({ state }) => state)).toEqual(["up to date", "up to date"]);
      const [, changed] = await explain({ ...trees.pnpm, "src/new.js": "1" });
      expect(changed).toMatchObject({
        state: "would be built",
        changes: [{ input: "commit", kind: "changed" }],
      });
    },
  );
});

function buildOf(found: ImageFacts["labels"]): ImageBuildSpec {
  return {
    context: packFiles([]),
    tags: [],
    labels: found,
    args: {},
    builder: "buildkit",
    network: false,
    fresh: false,
  };
}
