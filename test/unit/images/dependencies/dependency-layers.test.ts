import { describe, expect, test } from "vitest";
import {
  type DependencyLayer,
  findDependencyLayers,
  manifestPaths,
} from "../../../../src/images/rules/dependencies/dependency-layers.ts";
import { compileDockerIgnore } from "../../../../src/images/rules/docker-ignore.ts";
import { findSecretInManifest, findSecretPathReason } from "../../../../src/images/rules/secret-files.ts";
import { type Tree, trees } from "../sample-trees.ts";

function find(tree: Tree, { ignoreScripts = false } = {}) {
  const paths = Object.keys(tree);
  const read = new Set(manifestPaths(paths));
  return findDependencyLayers(
    { paths, readText: (path) => (read.has(path) ? tree[path] : undefined) },
    { ignoreScripts },
  );
}

function only(tree: Tree, options = {}): DependencyLayer {
  const { layers } = find(tree, options);
  const [layer] = layers;
  if (!layer || layers.length > 1) throw new Error(`${layers.length} layers`);
  return layer;
}

const json = JSON.stringify;
const dependent = json({ dependencies: { a: "1" } });
const pnpmLock = "lockfileVersion: '9.0'\n";

describe("layers of dependencies", () => {
  test.each([
    ["npm", trees.npm, ["CI=true npm ci --no-audit --no-fund"]],
    ["pnpm", trees.pnpm, ["CI=true /opt/tools/pnpm-10.34.9/bin/pnpm install --frozen-lockfile"]],
    ["yarn", trees.yarn, ["CI=true /opt/tools/yarn-4.5.0/bin/yarn install --immutable"]],
    ["bun", trees.bun, ["CI=true /opt/tools/bun-1.4.4/bin/bun install --frozen-lockfile"]],
    ["uv", trees.uv, ["UV_PROJECT_ENVIRONMENT=/opt/venvs/main uv sync --frozen --no-install-project"]],
    [
      "poetry",
      trees.poetry,
      [
        "python3 -m venv /opt/venvs/main",
        "VIRTUAL_ENV=/opt/venvs/main poetry install --no-root --no-interaction",
      ],
    ],
    [
      "pip",
      trees.pip,
      [
        "python3 -m venv /opt/venvs/main",
        "/opt/venvs/main/bin/pip install --no-cache-dir -r requirements.txt -r requirements-dev.txt",
      ],
    ],
    ["cargo", trees.cargo, ["cargo fetch --locked"]],
    ["maven", trees.maven, ["mvn -B dependency:go-offline"]],
  ] as const)("%s installs from its lockfile", (manager, tree, install) => {
    const layer = only(tree);

    expect(layer).toMatchObject({ manager, folder: "", install });
    expect(layer.files).toEqual([...layer.files].sort());
    for (const path of [...layer.files, ...layer.emptyFiles]) expect(Object.keys(tree)).toContain(path);
  });

  test.each([
    ["go", trees.go, "go mod download"],
    ["bundler", trees.bundler, "BUNDLE_FROZEN=true bundle install"],
  ] as const)("%s is content with a tool that is too old", (manager, tree, command) => {
    const layer = only(tree);

    expect(layer).toMatchObject({ manager, folder: "" });
    expect(layer.install.join("\n")).toContain(command);
    expect(layer.install.join("\n")).toContain('"AIMI""-LEFT-OUT: ');
  });

  test("every manager that is there gets its layer, shallow folders first", () => {
    expect(find(trees.mixed).layers.map(({ manager, folder }) => [manager, folder])).toEqual([
      ["npm", ""],
      ["pip", "api"],
      ["pnpm", "web"],
      ["go", "tools/lint"],
    ]);
  });

  test("nothing is found where nothing is", () => {
    expect(find({ "README.md": "", "src/a.ts": "" })).toEqual({ layers: [], leftOut: [] });
    expect(find({ "package.json": json({ scripts: { test: "true" } }) })).toEqual({
      layers: [],
      leftOut: [],
    });
  });
});

describe("workspaces", () => {
  test.each([
    [
      "a list",
      json({ workspaces: ["packages/*", "!packages/old", "./tools/{a,b}/"] }),
      "package-lock.json",
      "",
    ],
    [
      "an object",
      json({ workspaces: { packages: ["packages/*", "!packages/old", "tools/a", "tools/b"] } }),
      "yarn.lock",
      "",
    ],
    [
      "pnpm's file",
      "{}",
      "pnpm-lock.yaml",
      "packages:\n  # all\n  - 'packages/*'\n  - \"!packages/old\"\n\n  - tools/{a,b}\nonly: x",
    ],
  ])("named by %s put the manifests of all members in, and of no others", (_name, manifest, lock, pnpm) => {
    const members = ["packages/one", "packages/two", "tools/a", "tools/b"];
    const others = ["packages/old", "packages/one/deep", "tools/c", "elsewhere"];
    const tree = {
      "package.json": manifest,
      [lock]: "",
      ...(pnpm && { "pnpm-workspace.yaml": pnpm }),
      ...Object.fromEntries([...members, ...others].map((folder) => [`${folder}/package.json`, "{}"])),
    };

    const manifests = only(tree).files.filter((path) => path.endsWith("/package.json"));

    expect(manifests).toEqual(members.map((folder) => `${folder}/package.json`));
  });

  test("a member's own lockfile does not count, an independent project's does", () => {
    const { layers } = find({
      "package.json": json({ workspaces: ["packages/*"] }),
      "package-lock.json": "",
      "packages/a/package.json": dependent,
      "packages/a/package-lock.json": "",
      "site/package.json": dependent,
      "site/pnpm-lock.yaml": pnpmLock,
    });

    expect(layers.map(({ manager, folder }) => [manager, folder])).toEqual([
      ["npm", ""],
      ["pnpm", "site"],
    ]);
  });

  test("uv, Cargo, Go and Maven put their members in", () => {
    const { layers, leftOut } = find(trees.workspaces);

    expect(Object.fromEntries(layers.map(({ manager, files }) => [manager, files]))).toEqual({
      uv: ["packages/core/pyproject.toml", "pyproject.toml", "uv.lock"],
      cargo: [
        "Cargo.lock",
        "Cargo.toml",
        "crates/app/Cargo.toml",
        "crates/lib/Cargo.toml",
        "shared/Cargo.toml",
      ],
      go: ["a/go.mod", "a/go.sum", "b/go.mod", "go.work"],
      maven: ["core/pom.xml", "pom.xml", "web/pom.xml"],
    });
    expect(layers.find(({ manager }) => manager === "uv")?.install[0]).toContain(
      "--all-packages --no-install-workspace",
    );
    expect(layers.find(({ manager }) => manager === "cargo")?.emptyFiles).toEqual([
      ...[
        "crates/app/build.rs",
        "crates/app/cli/start.rs",
        "crates/app/src/bin/extra.rs",
        "crates/app/src/main.rs",
      ],
      ...["crates/lib/src/lib.rs", "shared/src/lib.rs"],
    ]);
    expect(leftOut).toEqual([]);
  });
});

describe("the tool's version", () => {
  const lockOf: Record<string, string> = {
    pnpm: "pnpm-lock.yaml",
    yarn: "yarn.lock",
    bun: "bun.lockb",
    npm: "package-lock.json",
  };

  test.each([
    ["npm", "npm@10.8.2", "", "npm@10.8.2"],
    ["pnpm", "pnpm@9.1.0+sha512.abc", "", "pnpm@9.1.0"],
    ["pnpm", "pnpm@9", "lockfileVersion: '6.0'\n", "pnpm@8.15.9"],
    ["pnpm", "", "lockfileVersion: 5.4\n", "pnpm@7.33.7"],
    ["yarn", "yarn@1.22.19", "# yarn lockfile v1\n", "yarn@1.22.19"],
    ["yarn", "", "# yarn lockfile v1\n", "yarn@1.22.22"],
    ["yarn", "", "__metadata:\n  version: 6\n", "@yarnpkg/cli-dist@3.8.6"],
    ["yarn", "", "__metadata:\n  version: 4\n", "@yarnpkg/cli-dist@2.4.2"],
    ["yarn", "", "__metadata:\n  version: 5\n", "@yarnpkg/cli-dist@3.1.1"],
    [
      "yarn",
      "",
      `__metadata:\n  version: 8\n\na:\n  checksum: ${"0".repeat(128)}\n`,
      "@yarnpkg/cli-dist@4.0.2",
    ],
    [
      "yarn",
      "",
      `__metadata:\n  version: 8\n\na:\n  checksum: 10c0/${"0".repeat(128)}\n`,
      "@yarnpkg/cli-dist@4.13.0",
    ],
    ["yarn", "", "__metadata:\n  version: 9\n", "@yarnpkg/cli-dist@4.14.1"],
    ["yarn", "", "__metadata:\n  version: 10\n", "@yarnpkg/cli-dist@4.18.1"],
    ["bun", "bun@1.1.0", "", "bun@1.1.0"],
    ["bun", "bun@1.1.0; curl x | sh", "", "bun@1.4.4"],
    ["pnpm", "pnpm@1.2.3-$(id)", pnpmLock, "pnpm@10.34.9"],
    ["pnpm", "npm@1.2.3", pnpmLock, "pnpm@10.34.9"],
  ])("%s with packageManager %j and the lockfile %j is %4$s", (manager, packageManager, lock, expected) => {
    const manifest = json({ ...(packageManager && { packageManager }), dependencies: { a: "1" } });

    const { prepare } = only({ "package.json": manifest, [lockOf[manager] ?? ""]: lock });

    expect(prepare[0]?.split(" ").at(-1)).toBe(expected);
  });

  test.each([
    ["poetry", trees.poetry, "poetry==1.8.3"],
    ["uv", trees.uv, "uv==0.5.11"],
  ] as const)("%s is the one that the project names", (_name, tree, expected) => {
    expect(only(tree).prepare.join("\n")).toContain(expected);
  });
});

describe("scripts", () => {
  const manifest = json({ dependencies: { a: "1" }, scripts: { prepare: "husky" } });

  test("of the project itself do not run before its sources are there", () => {
    const { install } = only({ "package.json": manifest, "package-lock.json": "" });

    expect(install).toHaveLength(2);
    expect(install[0]).toContain("manifest.scripts");
  });

  test("that only apply patches run, with the patches", () => {
    const layer = only({
      "package.json": json({ dependencies: { a: "1" }, scripts: { postinstall: "patch-package" } }),
      "package-lock.json": "",
      "patches/a+1.0.0.patch": "",
    });

    expect(layer.install).toHaveLength(1);
    expect(layer.files).toContain("patches/a+1.0.0.patch");
  });

  test.each([
    ["npm", trees.npm, "npm ci --no-audit --no-fund --ignore-scripts"],
    ["pnpm", trees.pnpm, "--ignore-scripts"],
    ["yarn", trees.yarn, "YARN_ENABLE_SCRIPTS=false"],
    ["bun", trees.bun, "--ignore-scripts"],
    ["uv", trees.uv, "--no-build"],
    ["poetry", trees.poetry, "POETRY_INSTALLER_ONLY_BINARY=:all:"],
    ["pip", trees.pip, "--only-binary :all:"],
  ] as const)("of dependencies are not run by %s when that is asked for", (_name, tree, expected) => {
    expect(only(tree, { ignoreScripts: true }).install.join("\n")).toContain(expected);
  });

  test("of gems cannot be held back, so there is no layer", () => {
    expect(find(trees.bundler, { ignoreScripts: true })).toEqual({
      layers: [],
      leftOut: [
        {
          path: "Gemfile",
          reason: "gems run their own code during installation, which --ignore-scripts forbids",
        },
      ],
    });
  });
});

describe("what is left out, and told", () => {
  const lock = { "package-lock.json": "" };

  test.each<[what: string, tree: Tree, path: string, reason: RegExp]>([
    [
      "a folder outside",
      { "package.json": json({ dependencies: { a: "file:../a" } }), ...lock },
      "package.json",
      /outside the repository/,
    ],
    [
      "a folder inside",
      { "package.json": json({ dependencies: { a: "file:./lib" } }), ...lock, "lib/package.json": "{}" },
      "package.json",
      /not yet in the image when/,
    ],
    [
      "an archive",
      { "package.json": json({ devDependencies: { a: "./a.tgz" } }), ...lock },
      "package.json",
      /not yet in the image when/,
    ],
    [
      "an override deep down",
      { "package.json": json({ overrides: { a: { b: "file:../b" } } }), ...lock },
      "package.json",
      /outside/,
    ],
    [
      "a copy of a member by pnpm",
      {
        "package.json": json({ dependencies: { a: "file:a" } }),
        "pnpm-lock.yaml": "",
        "pnpm-workspace.yaml": "packages: [a]",
        "a/package.json": "{}",
      },
      "package.json",
      /not yet in the image when/,
    ],
    [
      "a workspace without a lockfile",
      { "package.json": json({ dependencies: { a: "workspace:*" } }) },
      "package.json",
      /needs a lockfile/,
    ],
    [
      "a patch elsewhere",
      {
        "package.json": json({ pnpm: { patchedDependencies: { a: "fixes/a.patch" } } }),
        "pnpm-lock.yaml": "",
        "fixes/a.patch": "",
      },
      "package.json",
      /patch/,
    ],
    ["what is no JSON", { "package.json": "{", ...lock }, "package.json", /not a JSON object/],
    ["a subfolder without a lockfile", { "web/package.json": dependent }, "web/package.json", /no lockfile/],
    [
      "a second lockfile",
      { "package.json": dependent, ...lock, "yarn.lock": "" },
      "package-lock.json",
      /lockfile of yarn in the same folder/,
    ],
    [
      "uv's folder",
      { "pyproject.toml": '[tool.uv.sources]\nx = { path = "../x" }', "uv.lock": "" },
      "pyproject.toml",
      /local source folder/,
    ],
    [
      "poetry's folder",
      {
        "pyproject.toml": '[tool.poetry.group.dev.dependencies]\nx = {path="x", develop=true}',
        "poetry.lock": "",
      },
      "pyproject.toml",
      /dependency in a local folder/,
    ],
    [
      "a project without a lockfile",
      { "pyproject.toml": "[project]\nname='x'" },
      "pyproject.toml",
      /uv\.lock/,
    ],
    [
      "pip's own project",
      { "requirements.txt": "requests\n-e ." },
      "requirements.txt",
      /line 2 needs a folder/,
    ],
    ["pip's folder", { "requirements.txt": "-r more.txt" }, "requirements.txt", /line 1 names a file/],
    ["pip's archive", { "requirements.txt": "x @ file:///x.whl" }, "requirements.txt", /line 1 needs/],
    [
      "Cargo's folder",
      { "Cargo.toml": '[dependencies]\nx = { version = "1", path = "../x" }', "Cargo.lock": "" },
      "Cargo.toml",
      /has no Cargo\.toml/,
    ],
    [
      "Go's folder",
      { "go.mod": "module a\nreplace b => ../b\n", "go.sum": "" },
      "go.mod",
      /replaces a module/,
    ],
    ["a gem's own sources", { Gemfile: "source 'x'\ngemspec\n", "Gemfile.lock": "" }, "Gemfile", /line 2/],
    [
      "modules that need each other",
      {
        "pom.xml":
          "<project><artifactId>p</artifactId><modules><module>a</module><module>b</module></modules></project>",
        "a/pom.xml": "<project><artifactId>a</artifactId></project>",
        "b/pom.xml":
          "<project><artifactId>b</artifactId><dependencies><dependency><artifactId>a</artifactId></dependency></dependencies></project>",
      },
      "b/pom.xml",
      /another module of this repository/,
    ],
  ])("%s", (_what, tree, path, reason) => {
    const { leftOut } = find(tree);

    expect(leftOut).toEqual([{ path, reason: expect.stringMatching(reason) }]);
  });

  test.each([
    ["//host/:_authToken=abc", 1],
    ["registry=https://me:pw@host/", 1],
    ["# fine\n_password = x", 2],
  ])("an .npmrc with %j, and the layer goes without it", (text, line) => {
    const { layers, leftOut } = find({ ...trees.npm, ".npmrc": text });

    expect(layers[0]?.files).toEqual(["package-lock.json", "package.json"]);
    expect(leftOut).toEqual([
      {
        path: ".npmrc",
        reason: expect.stringMatching(new RegExp(`^the file may contain a secret: line ${line} `)),
      },
    ]);
  });

  test.each(["//host/:_authToken=${TOKEN}", "registry=https://host/", "engine-strict=true"])(
    "an .npmrc with %j goes in",
    (text) => {
      expect(only({ ...trees.npm, ".npmrc": text }).files).toContain(".npmrc");
    },
  );

  test("what .dockerignore ignores", () => {
    const { layers, leftOut } = find({ ...trees.npm, ...trees.pip, ".dockerignore": "*\n!package*.json\n" });

    expect(layers.map(({ manager }) => manager)).toEqual(["npm"]);
    expect(leftOut).toContainEqual({ path: "requirements.txt", reason: ".dockerignore excludes this file" });
  });

  test("vendored files and fixtures, in one line", () => {
    const { layers, leftOut } = find({
      "test/fixtures/a/package.json": dependent,
      "test/fixtures/a/package-lock.json": "",
      "node_modules/x/package.json": "{}",
    });

    expect(layers).toEqual([]);
    expect(leftOut).toEqual([
      {
        path: "test/fixtures/a/package.json",
        reason: expect.stringContaining("like 2 other manifests"),
      },
    ]);
  });
});

describe("hostile trees", () => {
  test.each(["it's", 'a"b', "a\nb", "$(id)", "a;b", "`x`", "ü", "a\\b"])(
    "a folder called %j gets no layer",
    (folder) => {
      const { layers, leftOut } = find({
        [`${folder}/package.json`]: dependent,
        [`${folder}/package-lock.json`]: "",
      });

      expect(layers).toEqual([]);
      expect(leftOut).toEqual([{ path: folder, reason: expect.stringContaining("characters") }]);
    },
  );

  test("30 lockfiles give 20 layers, and the rest is told", () => {
    const folders = Array.from({ length: 15 }, (_, index) => `p${index}`);
    const tree = Object.fromEntries(
      folders.flatMap((folder) => [
        [`${folder}/package.json`, dependent],
        [`${folder}/package-lock.json`, ""],
        [`${folder}/Cargo.toml`, "[package]\nname = 'x'"],
        [`${folder}/Cargo.lock`, ""],
      ]),
    );

    const { layers, leftOut } = find(tree);

    expect(layers).toHaveLength(20);
    expect(leftOut).toHaveLength(10);
  });

  test("thousands of manifests are looked through in no time, and not all told", () => {
    const folders = Array.from({ length: 3000 }, (_, index) => `a${index}`);
    const tree = Object.fromEntries(
      folders.flatMap((folder) => [
        [`${folder}/package.json`, dependent],
        [`${folder}/package-lock.json`, ""],
      ]),
    );
    const started = performance.now();

    const { leftOut } = find({ ...tree, ".dockerignore": `${"**/".repeat(50)}x*\n`.repeat(20) });

    expect(leftOut.at(-1)?.reason).toMatch(/^swarm left out \d+ more paths$/);
    // What looks at each again for each other one takes minutes.
    expect(performance.now() - started).toBeLessThan(4_500);
  });

  test("manifests nested without end are read to the end", () => {
    const deep = `${'{"a":'.repeat(5000)}"file:../x"${"}".repeat(5000)}`;

    expect(find({ "package.json": `{"overrides":${deep}}`, "package-lock.json": "" }).layers).toEqual([]);
  });

  test.each(["__proto__", "constructor", "toString"])("a dependency called %s is one like others", (name) => {
    expect(
      only({ "package.json": `{"dependencies":{"${name}":"1"}}`, "package-lock.json": "" }).manager,
    ).toBe("npm");
  });
});

describe(".dockerignore, as Docker reads it", () => {
  test.each<[text: string, path: string, ignored: boolean]>([
    ["a", "a", true],
    ["a", "a/b/c", true],
    ["a", "b/a", false],
    ["/a/", "a/b", true],
    ["./a/../b", "b", true],
    ["*", "a/b", true],
    ["*.json", "a.json", true],
    ["*.json", "a/a.json", false],
    ["**/*.json", "a.json", true],
    ["**/*.json", "a/b/a.json", true],
    ["a/**", "a/b/c", true],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/**/z", "a/bz", false],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[a-c]x", "bx", true],
    ["[^a-c]x", "bx", false],
    ["a\\*", "a*", true],
    ["a\\*", "ab", false],
    ["# a", "a", false],
    ["  a  ", "a", true],
    ["a\r", "a", true],
    ["\uFEFFa", "a", true],
    [".", "a", false],
    ["!", "a", false],
    ["*\n!a", "a", false],
    ["*\n!a", "a/b", false],
    ["*\n!a/b", "a/b", false],
    ["*\n!a/b", "a/c", true],
    ["!a\na", "a", true],
    ["*\n! a \na/c", "a/c", true],
    ["a.c", "abc", false],
    ["a(b)+$", "a(b)+$", true],
    ["[", "[", true],
    ["ü?", "üö", true],
  ])("%j on %j: %s", (text, path, ignored) => {
    expect(compileDockerIgnore(text)(path)).toBe(ignored);
  });
});

describe("files that look secret", () => {
  test.each([
    ".env",
    "a/.env.local",
    ".envrc",
    "key.pem",
    "id_rsa",
    "a/ID_ED25519",
    "server.key",
    ".netrc",
    ".pypirc",
    "credentials.json",
    ".aws/credentials",
    "x.p12",
    ".git-credentials",
    "a/.docker/config.json",
    "secrets.yml",
  ])("%s", (path) => {
    expect(findSecretPathReason(path)).toEqual(expect.any(String));
  });

  test.each([
    ".env.example",
    ".env.sample",
    "a/.env.template",
    "id_rsa.pub",
    "src/credentials.ts",
    "keyboard.ts",
    ".npmrc",
    "package.json",
    "id_generator.py",
    "environment.ts",
    "secrets.ts",
  ])("but not %s", (path) => {
    expect(findSecretPathReason(path)).toBeNull();
  });

  test.each([
    [".yarnrc.yml", 'npmAuthToken: "abc"', true],
    [".yarnrc.yml", 'npmAuthToken: "${TOKEN}"', false],
    ["pip.conf", "index-url = https://me:pw@host/simple", true],
    ["requirements.txt", "--index-url https://me:pw@host/simple", true],
    ["requirements.txt", "--index-url https://me:${PW}@host/simple", false],
    ["package.json", '"a": "git+ssh://git@host/a.git"', false],
    ["package.json", '"_authToken": "a package that is called so"', false],
  ])("the content of %s with %j: %s", (path, text, secret) => {
    expect(findSecretInManifest(path, text) !== null).toBe(secret);
  });
});
