import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test as plain } from "vitest";
import { isError } from "../../../src/errors/errors.ts";
import { findDependencyLayers } from "../../../src/images/rules/dependencies/dependency-layers.ts";
import {
  dependencyBuildContext,
  renderProjectDockerfile,
} from "../../../src/images/rules/project-dockerfile.ts";
import { appendStagesToUserDockerfile } from "../../../src/images/rules/user-dockerfile.ts";
import { type BundleTransfer, workspaceLayer } from "../../../src/images/rules/workspace-layer.ts";
import { trees } from "./sample-trees.ts";

const template = readFileSync(
  fileURLToPath(new URL("../../../images/project.Dockerfile.template", import.meta.url)),
  "utf8",
);
const base = "aimi-sandbox:base";

function layersOf(tree: Readonly<Record<string, string>>) {
  return findDependencyLayers(
    { paths: Object.keys(tree), readText: (path) => tree[path] },
    { ignoreScripts: false },
  ).layers;
}

function render(tree: Readonly<Record<string, string>>, transfer: BundleTransfer = "buildkit"): string {
  return renderProjectDockerfile({ template, base, layers: layersOf(tree), transfer });
}

describe("the project's Dockerfile", () => {
  plain.each(Object.entries(trees))("for %s is the one that was checked in", async (name, tree) => {
    await expect(render(tree)).toMatchFileSnapshot(`golden/${name}.Dockerfile`);
  });

  plain("copies the bundle where the builder cannot mount it", async () => {
    await expect(render(trees.mixed, "classic")).toMatchFileSnapshot("golden/mixed-classic.Dockerfile");
  });

  plain("is only the tree where there are no dependencies", async () => {
    await expect(render({})).toMatchFileSnapshot("golden/plain.Dockerfile");
  });

  plain("uses nothing that the builder of Docker 20.10 does not know", () => {
    for (const tree of Object.values(trees))
      expect(render(tree)).not.toMatch(/<<[A-Z'"]|^# *syntax|--link|--parents|--security/m);
  });

  plain("shows no mark in the text of its steps", () => {
    for (const tree of Object.values(trees)) expect(render(tree)).not.toContain("AIMI-");
    expect(compose("FROM a")).not.toContain("AIMI-");
  });

  plain("names no file of the project, whatever it is called", () => {
    const odd = 'packages/$(id) "\n`x`';
    const tree = {
      "package.json": JSON.stringify({ workspaces: ["packages/*"] }),
      "package-lock.json": "{}",
      [`${odd}/package.json`]: "{}",
    };

    expect(render(tree)).not.toContain("id)");
    expect(dependencyBuildContext(layersOf(tree))).toContainEqual({
      path: `deps/0/${odd}/package.json`,
      from: `${odd}/package.json`,
    });
  });

  plain("has its context told: copies of manifests, and sources that are empty", () => {
    expect(dependencyBuildContext(layersOf(trees.cargo))).toEqual([
      { path: "deps/0/Cargo.lock", from: "Cargo.lock" },
      { path: "deps/0/Cargo.toml", from: "Cargo.toml" },
      { path: "deps/0/src/main.rs", from: null },
    ]);
  });

  plain.each([
    ["unknown", `${template}\n{{other}}`, /unknown placeholder: other/],
    ["inherited", `${template}\n{{toString}}`, /unknown placeholder/],
    ["double", `${template}\n{{base}}`, /placeholder base twice/],
    ["missing", template.replace("{{workspace}}", ""), /lacks placeholders: workspace/],
  ])("is not made from a template with a placeholder that is %s", (_name, other, problem) => {
    expect(() =>
      renderProjectDockerfile({ template: other, base, layers: [], transfer: "buildkit" }),
    ).toThrow(problem);
  });

  plain.each(["a b", "a\nRUN x", "$X", "", "-x"])("does not stand on an image called %j", (reference) => {
    expect(() =>
      renderProjectDockerfile({ template, base: reference, layers: [], transfer: "buildkit" }),
    ).toThrow(/not a reference/);
  });
});

const file = ".aimi/Dockerfile.sandbox";

function compose(text: string, transfer: BundleTransfer = "buildkit"): string {
  return appendStagesToUserDockerfile({ text, file, base, transfer });
}

describe("a Dockerfile of the user's own", () => {
  plain("gets our part as its last stage", async () => {
    const text =
      "# syntax=docker/dockerfile:1\nARG TAG=12\nFROM debian:${TAG}\nRUN apt-get update \\\n  && apt-get install -y git\n";

    await expect(compose(text)).toMatchFileSnapshot("golden/user.Dockerfile");
  });

  plain("continues lines as it does itself", async () => {
    const text = "# escape=`\nFROM debian:12 AS built\nRUN echo a `\n  b\n";

    await expect(compose(text, "classic")).toMatchFileSnapshot("golden/user-escape.Dockerfile");
  });

  plain.each<[what: string, text: string, start: string, stage: string]>([
    ["its stage's own name", "FROM a AS Built", "FROM a AS Built\n", "Built"],
    ["lower case", "from a as b\nrun x", "from a as b\nrun x\n", "b"],
    ["no name", "FROM a\nRUN x", "FROM a AS aimi-user\nRUN x\n", "aimi-user"],
    [
      "a platform",
      "FROM --platform=linux/amd64 a",
      "FROM --platform=linux/amd64 a AS aimi-user\n",
      "aimi-user",
    ],
    [
      "several stages",
      "FROM a AS x\nFROM b\nCOPY --from=0 /a /b",
      "FROM a AS x\nFROM b AS aimi-user\n",
      "aimi-user",
    ],
    [
      "a continued FROM",
      "FROM \\\n# why\n  a \\\n  AS b\nRUN x",
      "FROM \\\n# why\n  a \\\n  AS b\nRUN x\n",
      "b",
    ],
    ["a continued FROM without a name", "FROM \\\n  a\nRUN x", "FROM a AS aimi-user\n\nRUN x\n", "aimi-user"],
    ["CRLF", "FROM a\r\nRUN x \\\r\n  y\r\n", "FROM a AS aimi-user\r\nRUN x \\\r\n  y\n", "aimi-user"],
    ["a comment that says FROM", "FROM a\n# FROM b AS c", "FROM a AS aimi-user\n# FROM b", "aimi-user"],
    ["an argument before it", "ARG X=1\nFROM a:$X", "ARG X=1\nFROM a:$X AS aimi-user\n", "aimi-user"],
    [
      "a continued line that says FROM",
      "FROM a\nRUN x \\\n\n# no end\nFROM b AS c",
      "FROM a AS aimi-user\n",
      "aimi-user",
    ],
    [
      "a here-document that says FROM",
      "FROM a\nRUN <<EOF cat\nselect 1\nFROM b AS c\nEOF\nRUN y",
      "FROM a AS aimi-user\n",
      "aimi-user",
    ],
    [
      "two here-documents",
      "FROM a\nCOPY <<-'ONE' <<\"TWO\" /x/\nFROM b\n\tONE\nFROM c\nTWO\nRUN y",
      "FROM a AS aimi-user\n",
      "aimi-user",
    ],
    [
      "a here-document that never ends",
      "FROM a\nRUN x <<EOF\nFROM b AS c",
      "FROM a\nRUN x <<EOF\nFROM b AS c",
      "c",
    ],
    [
      "a backslash at an escaped end",
      "# escape=`\nFROM a\nRUN dir c:\\\nFROM b AS c",
      "# escape=`\nFROM a\n",
      "c",
    ],
    ["two backslashes at the end", "FROM a\nRUN x \\\\\nFROM b AS c", "FROM a\n", "c"],
    [
      "a directive that comes too late",
      "# hello\n# escape=`\nFROM a\nRUN x \\\nFROM b AS c",
      "# hello\n# escape=`\nFROM a AS aimi-user",
      "aimi-user",
    ],
    [
      "a byte order mark",
      "\uFEFF# escape=`\nFROM a\nRUN x `\n y",
      "\uFEFF# escape=`\nFROM a AS aimi-user",
      "aimi-user",
    ],
  ])("with %s", (_what, text, start, stage) => {
    const composed = compose(text);

    expect(composed.slice(0, start.length)).toBe(start);
    expect(composed).toContain(`\nFROM ${base} AS aimi-base\n\nFROM ${stage}\n`);
  });

  plain("keeps the numbers of its lines", () => {
    const text = "FROM \\\n  # why\n  a\nRUN x\nRUN y";

    expect(compose(text).split("\n").slice(3, 5)).toEqual(["RUN x", "RUN y"]);
  });

  plain.each<[what: string, text: string, line: number, problem: RegExp]>([
    ["nothing in it", "", 1, /no FROM/],
    ["no FROM", "# x\n\nRUN y", 3, /no FROM/],
    ["a FROM only in a comment", "# FROM a", 1, /no FROM/],
    ["a FROM of nothing", "RUN x\nFROM", 2, /FROM must name an image/],
    ["a FROM of two", "FROM a b", 1, /FROM must name an image/],
    ["AS of nothing", "FROM a AS", 1, /FROM must name an image/],
    ["a name that is none", "FROM a AS $x", 1, /name of a build stage is invalid/],
    ["our base's name", "FROM a AS aimi-base", 1, /swarm reserves/],
    ["our base's name in other letters", "FROM a\nFROM b as AIMI-Base\nFROM c", 2, /swarm reserves/],
    ["our stage's name for another stage", "FROM a AS aimi-user\nFROM b", 1, /swarm reserves/],
  ])("with %s is refused, with its line", (_what, text, line, problem) => {
    const thrown = catchError(() => compose(text));

    expect(isError(thrown, "DOCKERFILE_INVALID") && thrown.details).toEqual({
      place: { file, line },
      problem: expect.stringMatching(problem),
    });
  });
});

function catchError(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

const test = plain.extend<{ folder: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads which fixtures are wanted from this pattern.
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "workspace-layer-"));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
});

describe("the workspace layer, in a real shell with a real git", () => {
  test("holds the commit, and is clean among what was installed before", ({ folder }) => {
    const commit = makeBundle(folder, {
      "package.json": "{}",
      "web [x]/package.json": "{}",
      ".yarn/releases/y.cjs": "1",
      "site/package.json": "{}",
    });
    write(join(folder, "workspace"), {
      "package.json": "changed before",
      "node_modules/a/index.js": "",
      "web [x]/node_modules/a/index.js": "",
      ".yarn/install-state.gz": "",
      "site/.yarn/unplugged/x": "",
      ".pnp.cjs": "",
    });

    const { status, stdout, stderr } = runLayer(folder, commit);

    expect([status, stdout, stderr]).toEqual([0, "", ""]);
    expect(readFileSync(join(folder, "workspace/package.json"), "utf8")).toBe("{}");
    expect(git(join(folder, "workspace"), "rev-parse", "HEAD", "workspace").split("\n")).toEqual([
      commit,
      commit,
      "",
    ]);
    expect(git(join(folder, "workspace"), "status", "--porcelain", "--ignored")).toContain(
      "!! node_modules/",
    );
  });

  test("is refused with the names of files that the commit does not have", ({ folder }) => {
    const commit = makeBundle(folder, { "a.txt": "1" });
    write(join(folder, "workspace"), { "left over.txt": "" });

    const { status, stdout } = runLayer(folder, commit);

    expect(status).toBe(1);
    expect(stdout).toBe('AIMI-DIRTY: the working tree differs from the commit:\n?? "left over.txt"\n');
  });

  test("is refused when the bundle holds another commit", ({ folder }) => {
    makeBundle(folder, { "a.txt": "1" });
    mkdirSync(join(folder, "workspace"));

    const { status, stdout } = runLayer(folder, "0".repeat(40));

    expect(status).toBe(1);
    expect(stdout).toContain("AIMI-WRONG-BUNDLE:");
  });
});

describe("the project's own scripts, in a real shell", () => {
  test("leave the manifests before the installation, those of patches apart", ({ folder }) => {
    const scripts = { prepare: "tsc", postinstall: "patch-package --error-on-fail", test: "vitest" };
    const manifests = {
      "package.json": JSON.stringify({ workspaces: ["packages/*"], dependencies: { a: "1" }, scripts }),
      "packages/a b/package.json": `\uFEFF${JSON.stringify({ scripts })}`,
      "packages/c/package.json": "{}",
    };
    const [layer] = layersOf({ ...manifests, "package-lock.json": "" });
    write(folder, { ...manifests, "node_modules/x/package.json": "not read" });

    const { status, stderr } = spawnSync("sh", ["-c", layer?.install[0] ?? ""], {
      cwd: folder,
      encoding: "utf8",
    });

    expect([status, stderr]).toEqual([0, ""]);
    const left = { postinstall: scripts.postinstall, test: scripts.test };
    expect(readManifest(folder, "package.json").scripts).toEqual(left);
    expect(readManifest(folder, "packages/a b/package.json").scripts).toEqual(left);
    expect(readManifest(folder, "packages/c/package.json")).toEqual({});
  });
});

function readManifest(folder: string, path: string): { scripts?: unknown } {
  return JSON.parse(readFileSync(join(folder, path), "utf8"));
}

/** The lines of the layer as a shell gets them, with the container's folders moved. */
function runLayer(folder: string, commit: string) {
  const [, script = ""] = /^RUN [^\n]*\\\n([\s\S]*)$/m.exec(workspaceLayer("buildkit")) ?? [];
  const moved = script
    .replaceAll("/tmp/workspace.bundle", `${folder}/workspace.bundle`)
    .replaceAll("/workspace\\", `${folder}/workspace\\`)
    .replace("cd /workspace;", `cd ${folder}/workspace;`);
  return spawnSync("sh", ["-c", moved], { env: { ...process.env, BASE_COMMIT: commit }, encoding: "utf8" });
}

function makeBundle(folder: string, files: Readonly<Record<string, string>>): string {
  const source = join(folder, "source");
  write(source, files);
  git(source, "init", "--quiet", "--template=");
  git(source, "add", "--all");
  git(source, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=x");
  git(source, "branch", "--force", "workspace");
  git(source, "bundle", "create", "--quiet", join(folder, "workspace.bundle"), "refs/heads/workspace");
  return git(source, "rev-parse", "HEAD").trim();
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function git(folder: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
