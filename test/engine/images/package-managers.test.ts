import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, inject, type TestAPI } from "vitest";
import { labels } from "../../../src/engine/engine.ts";
import {
  agentPackages,
  baseImage,
  nodeVersion,
  npmPackageWithNode,
  npmVersion,
} from "../../../src/engine/rules/base-image.ts";
import { createCommitReader } from "../../../src/git/commit-reader.ts";
import { ensureProjectImage } from "../../../src/images/build-project-image.ts";
import { imageSources } from "../../../src/images/image-sources.ts";
import { findDependencyLayers } from "../../../src/images/rules/dependencies/dependency-layers.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { count } from "../../counts.ts";
import { adapterFile, dockerAt, openEngine, outputOf } from "../../fakes/engine/engine-at.ts";
import { test as base } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { testLabel } from "../../fakes/test-label.ts";

const engine = openEngine(inject("endpoint"));
const docker = dockerAt(inject("endpoint"));
const { images } = await engine.open();
const sources = imageSources({
  ...{ env: process.env, adapterFile },
  imagesFolder: fileURLToPath(new URL("../../../images", import.meta.url)),
  cacheFolder: join(inject("stateFolder"), "downloads"),
});

type Tree = Readonly<Record<string, string>>;

interface Built {
  readonly warnings: readonly string[];
  /** What a shell says as the agent in the workspace, without a network. */
  say(script: string): Promise<string>;
}

/** Makes the image of a tree; it is gone afterwards. */
const test: TestAPI<{ build: (tree: Tree) => Promise<Built> }> = base.extend<{
  build: (tree: Tree) => Promise<Built>;
}>({
  build: async ({ folder, repository }, use) => {
    const id = randomBytes(16).toString("hex");
    await use(async (tree) => {
      for (const [path, content] of Object.entries(tree)) write(repository, path, content);
      git(repository, "add", "--all");
      const identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"];
      git(repository, ...identity, "commit", "--quiet", "--message", "Depend");
      const found = await images.find(baseImage);
      const { tag, warnings } = await ensureProjectImage(
        {
          ...{ engine, sources, lock: kernelLock(join(folder, "image.lock"), "a test") },
          project: { id, slug: "managers", commits: createCommitReader(repository) },
        },
        {
          base: {
            ...{ id: found?.id ?? "", tag: baseImage, built: false },
            checksum: found?.labels[labels.checksum] ?? "",
          },
          options: { ignoreScripts: false, buildNetwork: true },
          fresh: false,
        },
        { onStep: () => {}, onEvent: () => {} },
      );
      return { warnings, say: (script) => sayIn(tag, script, { network: "none" }) };
    });
    for (const { Id } of await docker.listImages({
      filters: JSON.stringify({ label: [`${labels.project}=${id}`] }),
    }))
      await docker.getImage(Id).remove({ force: true });
  },
});

async function sayIn(image: string, script: string, { network }: { network: string }): Promise<string> {
  const container = await docker.createContainer({
    ...{
      Image: image,
      Cmd: ["bash", "-euc", script],
      User: "1000:1000",
      Labels: { [testLabel]: "managers" },
    },
    ...{ HostConfig: { NetworkMode: network, Init: true } },
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

/** What each of some addresses answers to a container with a network: 200, or why not. */
async function lookAt(addresses: readonly string[]): Promise<Map<string, string>> {
  const said = await sayIn(
    baseImage,
    `for address in ${addresses.map((address) => `'${address}'`).join(" ")}; do
       curl --http1.1 --silent --output /dev/null --max-time 20 --write-out '%{http_code} %{errormsg}\\n' "$address" || true
     done`,
    { network: "bridge" },
  );
  const answers = said.split("\n").map((line) => line.replace(/^000 /, "").trim());
  return new Map(addresses.map((address, index) => [address, answers[index] ?? "no answer"]));
}

/** npm's registry, as this machine knows it. */
const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" })
  .trim()
  .replace(/\/?$/, "/");

const indexes = { npm: `${registry}is-number`, python: "" };
let publicPython = "";
let answers = new Map<string, string>();
beforeAll(async () => {
  // pip knows its own address.
  const told = 'from pip._internal.models.index import PyPI; print(PyPI.url.rstrip("/"))';
  publicPython = (await sayIn(baseImage, `python3 -c '${told}'`, { network: "none" })).trim();
  indexes.python = `${publicPython}/simple/pip/`;
  answers = await lookAt(Object.values(indexes));
});

type Skip = (condition: boolean, note: string) => void;

/** Skips a test whose index does not answer a container of this machine, and says what happened. */
function need(skip: Skip, index: keyof typeof indexes): void {
  const answer = answers.get(indexes[index]) ?? "";
  skip(
    answer !== "200",
    `${new URL(indexes[index]).host} cannot be reached from a container here: ${answer}`,
  );
}

const integrity =
  "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==";

/** Described as it never was before, so that the builder cannot remember the installation. */
function manifest(): string {
  return JSON.stringify({
    ...{ name: "sample", private: true, description: randomBytes(8).toString("hex") },
    dependencies: { "is-number": "7.0.0" },
  });
}

const trees: Readonly<Record<"npm" | "pnpm" | "yarnClassic", Tree>> = {
  npm: {
    "package-lock.json": JSON.stringify({
      ...{ name: "sample", lockfileVersion: 3, requires: true },
      packages: {
        "": { name: "sample", dependencies: { "is-number": "7.0.0" } },
        "node_modules/is-number": {
          version: "7.0.0",
          resolved: `${registry}is-number/-/is-number-7.0.0.tgz`,
          integrity,
        },
      },
    }),
  },
  pnpm: {
    "pnpm-lock.yaml": `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      is-number:
        specifier: 7.0.0
        version: 7.0.0

packages:

  is-number@7.0.0:
    resolution: {integrity: ${integrity}}
    engines: {node: '>=0.12.0'}

snapshots:

  is-number@7.0.0: {}
`,
  },
  yarnClassic: {
    "yarn.lock": `# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


is-number@7.0.0:
  version "7.0.0"
  resolved "${registry}is-number/-/is-number-7.0.0.tgz#7535345b896734d5f80c4d06c50955527a14f12b"
  integrity ${integrity}
`,
  },
};

const sums = {
  2: "eec6e506c6de472af4bdfd0cc477e8aeb76f0a7066c8680fcdfed5324ee31a7d2b59d22313007c58aa80eb937f0c40eefdceedb851997d46b490b49f87160369",
  3: "456ac6f8e0f3111ed34668a624e45315201dff921e5ac181f8ec24923b99e9f32ca1a194912dc79d539c97d33dba17dc635202ff0b2cf98326f608323276d27a",
  4: "b4686d0d3053146095ccd45346461bc8e53b80aeb7671cc52a4de02dbbf7dc0d1d2a986e2fe4ae206984b4d34ef37e8b795ebc4f4295c978373e6575e295d811",
};

/** Every generation of Yarn's lockfile: none takes that of another without changing it. */
const berries: readonly (readonly [
  yarn: string,
  version: number,
  cacheKey: string,
  checksum: string,
  wish: string,
])[] = [
  ["2", 4, "7", sums[2], "7.0.0"],
  ["3.1", 5, "8", sums[3], "7.0.0"],
  ["3", 6, "8", sums[3], "7.0.0"],
  ["4.0", 8, "10c0", sums[4], '"npm:7.0.0"'],
  ["4.1 to 4.13", 8, "10c0", `10c0/${sums[4]}`, '"npm:7.0.0"'],
  ["4.14", 9, "10c0", `10c0/${sums[4]}`, '"npm:7.0.0"'],
  ["4", 10, "10c0", `10c0/${sums[4]}`, '"npm:7.0.0"'],
];

function berryTree([, version, cacheKey, checksum, wish]: (typeof berries)[number]): Tree {
  return {
    "yarn.lock": `# This file is generated by running "yarn install" inside your project.
# Manual changes might be lost - proceed with caution!

__metadata:
  version: ${version}
  cacheKey: ${cacheKey}

"is-number@npm:7.0.0":
  version: 7.0.0
  resolution: "is-number@npm:7.0.0"
  checksum: ${checksum}
  languageName: node
  linkType: hard

"sample@workspace:.":
  version: 0.0.0-use.local
  resolution: "sample@workspace:."
  dependencies:
    is-number: ${wish}
  languageName: unknown
  linkType: soft
`,
  };
}

describe("dependencies are installed in a build, and work for the agent without a network", () => {
  const ask = `-e 'console.log(require("is-number")(5), require("is-number/package.json").version)'`;
  const clean = "git status --porcelain --untracked-files=all";

  for (const [manager, tree] of Object.entries(trees).slice(0, count.packageManagers)) {
    test(`by ${manager}`, async ({ build, skip }) => {
      need(skip, "npm");

      const { say, warnings } = await build({
        ...tree,
        "package.json": manifest(),
        ".gitignore": "node_modules\n",
      });

      expect(await say(`${clean}; node ${ask}; stat -c %U node_modules`)).toBe("true 7.0.0\nagent");
      expect(warnings).toEqual([]);
    });
  }

  test.for(berries.slice(0, count.yarns))(
    "by Yarn %s, from a lockfile of version %i",
    async (berry, { build, skip }) => {
      need(skip, "npm");

      const { say, warnings } = await build({ ...berryTree(berry), "package.json": manifest() });

      expect(await say(`${clean}; yarn node ${ask}`)).toBe("true 7.0.0");
      expect(warnings).toEqual([]);
    },
  );
});

/** A comment that the builder cannot remember. */
function unseen(): string {
  return `# ${randomBytes(8).toString("hex")}`;
}

/** An index of Python packages in a container, with one small package. */
const pythonIndex = `
import hashlib, http.server, io, os, zipfile
files = {
  "tiny.py": "def say():\\n    return 'the tiny one works'\\n",
  "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n",
  "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
files["tiny-1.0.dist-info/RECORD"] = "".join(name + ",,\\n" for name in [*files, "tiny-1.0.dist-info/RECORD"])
wheel = io.BytesIO()
with zipfile.ZipFile(wheel, "w") as archive:
  for name, text in files.items(): archive.writestr(name, text)
sum = hashlib.sha256(wheel.getvalue()).hexdigest()
os.makedirs("/tmp/index/simple/tiny")
os.chdir("/tmp/index")
open("tiny-1.0-py3-none-any.whl", "wb").write(wheel.getvalue())
open("simple/tiny/index.html", "w").write('<a href="/tiny-1.0-py3-none-any.whl#sha256=' + sum + '">tiny-1.0-py3-none-any.whl</a>')
server = http.server.ThreadingHTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler)
print("serving", sum, flush=True)
server.serve_forever()
`;

describe("Python's dependencies are installed in a build, and work for the agent without a network", () => {
  let index: Docker.Container | undefined;
  let address = "";
  let sum = "";
  beforeAll(async () => {
    index = await docker.createContainer({
      ...{ Image: baseImage, Cmd: ["python3", "-c", pythonIndex], User: "1000:1000" },
      ...{ Labels: { [testLabel]: "managers" }, HostConfig: { Init: true } },
    });
    await index.start();
    const said = (await index.logs({ stdout: true, follow: true })) as unknown as Readable;
    for await (const chunk of said) {
      sum = /serving ([0-9a-f]{64})/.exec(String(chunk))?.[1] ?? "";
      if (sum) break;
    }
    const { NetworkSettings } = await index.inspect();
    address = NetworkSettings.Networks["bridge"]?.IPAddress ?? "";
    answers.set("index", (await lookAt([`http://${address}:8000/simple/tiny/`])).values().next().value ?? "");
  });
  afterAll(async () => {
    await index?.remove({ force: true });
  });
  const needIndex = (skip: Skip): void => {
    const answer = answers.get("index") ?? "";
    skip(answer !== "200", `containers here cannot reach one another: ${answer}`);
  };
  const clean = "git status --porcelain --untracked-files=all";
  const ask = `python -c 'import sys, tiny; print(tiny.say(), sys.prefix)'`;

  test("by pip, from an index of one's own", async ({ build, skip }) => {
    needIndex(skip);

    const { say, warnings } = await build({
      "requirements.txt": `--index-url http://${address}:8000/simple\n--trusted-host ${address}\ntiny==1.0 ${unseen()}\n`,
    });

    expect(await say(`${clean}; ${ask}`)).toBe("the tiny one works /opt/venvs/main");
    expect(warnings).toEqual([]);
  });

  test("by pip, from the public index", async ({ build, skip }) => {
    need(skip, "python");

    const { say } = await build({ "requirements.txt": `idna==3.10 ${unseen()}\n` });

    expect(await say(`${clean}; python -c 'import idna; print(idna.__version__)'`)).toBe("3.10");
  });

  test("by uv, which comes from the public index itself", async ({ build, skip }) => {
    need(skip, "python");
    needIndex(skip);
    const files = `http://${address}:8000`;

    const { say, warnings } = await build({
      "pyproject.toml": `${unseen()}
[project]
name = "sample"
version = "0.1.0"
requires-python = ">=3.9"
dependencies = ["tiny"]

[[tool.uv.index]]
url = "${files}/simple"
default = true
`,
      "uv.lock": `version = 1
requires-python = ">=3.9"

[[package]]
name = "sample"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "tiny" },
]

[package.metadata]
requires-dist = [{ name = "tiny" }]

[[package]]
name = "tiny"
version = "1.0"
source = { registry = "${files}/simple" }
wheels = [
    { url = "${files}/tiny-1.0-py3-none-any.whl", hash = "sha256:${sum}" },
]
`,
    });

    expect(await say(`${clean}; ${ask}`)).toBe("the tiny one works /opt/venvs/main");
    expect(warnings).toEqual([]);
  });
});

describe("every version that swarm chooses exists", () => {
  const named = (tree: Tree): string =>
    findDependencyLayers(
      { paths: Object.keys(tree), readText: (path) => tree[path] },
      { ignoreScripts: false },
    )
      .layers.flatMap(({ prepare }) => prepare)
      .join("\n");
  const plain = { "package.json": manifest() };
  const pyproject = { "pyproject.toml": '[project]\nname = "sample"\n[tool.poetry]\nname = "sample"\n' };

  test("at npm's registry: Node, npm, the agents, and package managers for all lockfiles", async ({
    skip,
  }) => {
    need(skip, "npm");
    const texts = [
      ...["5.4", "'6.0'", "'9.0'"].map((version) =>
        named({ ...plain, "pnpm-lock.yaml": `lockfileVersion: ${version}\n` }),
      ),
      named({ ...plain, ...trees.yarnClassic }),
      ...berries.map((berry) => named({ ...plain, ...berryTree(berry) })),
      named({ ...plain, "bun.lock": "{}" }),
    ];
    const wanted = new Set([
      ...texts.flatMap((text) => text.match(/(?<= )\S+@\d+\.\d+\.\d+$/gm) ?? []),
      ...["amd64", "arm64"].map((architecture) => `${npmPackageWithNode(architecture)}@${nodeVersion}`),
      `npm@${npmVersion}`,
      ...Object.values(agentPackages),
    ]);
    expect(wanted.size).toBeGreaterThanOrEqual(3 + 1 + 7 + 1 + 2 + 1 + 4);

    const found = await lookAt(
      [...wanted].map((each) => {
        const at = each.lastIndexOf("@");
        return `${registry}${each.slice(0, at).replace("/", "%2f")}/${each.slice(at + 1)}`;
      }),
    );

    expect([...found].filter(([, answer]) => answer !== "200")).toEqual([]);
  });

  test("at Python's index: uv and Poetry", async ({ skip }) => {
    need(skip, "python");
    const texts = [named({ ...pyproject, "uv.lock": "" }), named({ ...pyproject, "poetry.lock": "" })];
    const wanted = texts.flatMap((text) => [...text.matchAll(/ (uv|poetry)==(\S+)$/gm)]);
    expect(wanted).toHaveLength(2);

    const found = await lookAt(
      wanted.map(([, name, version]) => `${publicPython}/pypi/${name}/${version}/json`),
    );

    expect([...found].filter(([, answer]) => answer !== "200")).toEqual([]);
  });
});
