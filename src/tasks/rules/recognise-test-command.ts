import type { DependencyLayer, PackageManager } from "../../images/rules/dependencies/dependency-layer.ts";
import {
  isJsonObject,
  parseJsonObject,
  parseTomlSections,
} from "../../images/rules/dependencies/manifest-text.ts";

/**
 * The paths of a commit's tracked files. `readText` returns a file's content, or undefined if the content is
 * not available.
 */
interface TrackedFiles {
  readonly paths: readonly string[];
  readonly readText: (path: string) => string | undefined;
}

/** The layers with the project's dependencies that the sandboxes' image adds to the base image. */
interface SandboxImageLayers {
  readonly layers: readonly Pick<DependencyLayer, "manager" | "folder" | "files" | "prepare">[];
  /**
   * Whether the project has its own Dockerfile. Swarm does not know what an image from such a Dockerfile
   * contains.
   */
  readonly isOwn: boolean;
}

/**
 * The command that runs the repository's tests. `by` says how swarm recognised the command, for example
 * "package.json has a test script".
 */
interface TestCommand {
  readonly command: string;
  readonly by: string;
}

export type RecognisedTestCommand =
  | ({ readonly kind: "found" } & TestCommand)
  /**
   * The repository has a test command, but the image lacks programs or packages that the command needs. The
   * command would fail in every sandbox.
   */
  | ({ readonly kind: "not in the image" } & TestCommand)
  | { readonly kind: "none" };

/**
 * One way to run tests, for example with npm or pytest. If a repository has several ways, swarm chooses the
 * first that can run in the image.
 */
interface TestKind {
  readonly recognise: (tree: Tree, image: SandboxImageLayers) => TestCommand | null;
  readonly canRun: (tree: Tree, image: SandboxImageLayers) => boolean;
}

interface Tree {
  readonly has: (path: string) => boolean;
  readonly hasLike: (pattern: RegExp) => boolean;
  /** Returns a file's content; "" for a file that is missing or too large. */
  readonly text: (path: string) => string;
}

const javascript: readonly PackageManager[] = ["npm", "pnpm", "yarn", "bun"];
const makefiles: readonly string[] = ["GNUmakefile", "makefile", "Makefile"];
const pythonFiles: readonly string[] = ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"];

/** Requires a layer of one of these package managers for the root folder. */
const needs =
  (...managers: readonly PackageManager[]): TestKind["canRun"] =>
  (_tree, image) =>
    rootLayers(image, managers).length > 0;

const testKinds: readonly TestKind[] = [
  {
    recognise(tree, image) {
      const script = testScript(tree.text("package.json"));
      if (script === null || /no test specified/.test(script)) return null;
      const manager = managerOf(tree, image);
      const command = manager === "bun" ? "bun run test" : `${manager} test`;
      return { command, by: "package.json has a test script" };
    },
    canRun: (tree, image) => needs(...javascript)(tree, image) || !asksForPackages(tree.text("package.json")),
  },
  {
    recognise(tree) {
      const by = pytestMark(tree);
      // Nothing installs a package below `src`, so Python finds it only with `PYTHONPATH`.
      const path = tree.hasLike(/^src\/[^/]+\/__init__\.py$/) ? "PYTHONPATH=src " : "";
      return by === null ? null : { command: `${path}python3 -m pytest`, by };
    },
    canRun: (tree, image) =>
      rootLayers(image, ["uv", "poetry", "pip"]).some(({ files }) =>
        files.some((path) => /\bpytest/.test(tree.text(path))),
      ),
  },
  {
    recognise: (tree) =>
      // Without a lockfile, Cargo would ask the registry first; `--offline` prevents that.
      commandIfPresent(tree, "Cargo.toml", tree.has("Cargo.lock") ? "cargo test" : "cargo test --offline"),
    canRun: needs("cargo"),
  },
  {
    recognise: (tree) => commandIfPresent(tree, "go.mod", "go test ./..."),
    canRun: needs("go"),
  },
  {
    recognise: (tree) => commandIfPresent(tree, "pom.xml", "mvn --batch-mode test"),
    canRun: needs("maven"),
  },
  {
    recognise(tree) {
      const command = tree.has("gradlew") ? "./gradlew test" : "gradle test";
      return (
        commandIfPresent(tree, "build.gradle", command) ?? commandIfPresent(tree, "build.gradle.kts", command)
      );
    },
    canRun: () => false,
  },
  {
    recognise(tree) {
      const gems = `${tree.text("Gemfile")}\n${tree.text("Gemfile.lock")}`;
      if (/\brspec/.test(gems) && tree.hasLike(/^spec\/.*_spec\.rb$/))
        return { command: "bundle exec rspec", by: "the Gemfile lists rspec, and the folder spec has tests" };
      const isTask = /TestTask|^\s*task[ (]+(?::test\b|test:|["']test["'])/m.test(tree.text("Rakefile"));
      if (/\brake\b/.test(gems) && isTask)
        return { command: "bundle exec rake test", by: "the Rakefile has a task named test" };
      return null;
    },
    canRun: needs("bundler"),
  },
  {
    recognise: (tree) =>
      testScript(tree.text("composer.json")) === null
        ? null
        : { command: "composer test", by: "composer.json has a test script" },
    canRun: () => false,
  },
  {
    recognise(tree) {
      const file = makefiles.find((name) =>
        /^(?:[\w.-]+[ \t]+)*test(?:[ \t]+[\w.-]+)*[ \t]*:(?!:?=)/m.test(tree.text(name)),
      );
      return file === undefined ? null : { command: "make test", by: `${file} has a target named test` };
    },
    canRun: (_tree, { layers }) =>
      layers.some(({ prepare }) => prepare.some((line) => line.includes("build-essential"))),
  },
];

/**
 * The names of files that swarm must read to recognise a project's test command, besides the manifests of the
 * project's packages.
 */
export const testManifestNames: readonly string[] = [
  ...pythonFiles,
  ...makefiles,
  "package.json",
  "composer.json",
  "Gemfile",
  "Gemfile.lock",
  "Rakefile",
];

/** Finds the repository's own test command from files in the root folder. */
export function recogniseTestCommand(
  { paths, readText }: TrackedFiles,
  image: SandboxImageLayers,
): RecognisedTestCommand {
  const tracked = new Set(paths);
  const tree: Tree = {
    has: (path) => tracked.has(path),
    hasLike: (pattern) => paths.some((path) => pattern.test(path)),
    text: (path) => (tracked.has(path) ? (readText(path) ?? "") : ""),
  };
  const found = testKinds.flatMap(({ recognise, canRun }) => {
    const tests = recognise(tree, image);
    return tests === null ? [] : [{ tests, canRun: image.isOwn || canRun(tree, image) }];
  });
  const [chosen] = [...found.filter((each) => each.canRun), ...found];
  if (!chosen) return { kind: "none" };
  return { kind: chosen.canRun ? "found" : "not in the image", ...chosen.tests };
}

function commandIfPresent(tree: Tree, file: string, command: string): TestCommand | null {
  return tree.has(file) ? { command, by: `there is a ${file}` } : null;
}

function rootLayers(
  { layers }: SandboxImageLayers,
  managers: readonly PackageManager[],
): SandboxImageLayers["layers"] {
  return layers.filter(({ folder, manager }) => folder === "" && managers.includes(manager));
}

/**
 * Returns the JavaScript package manager that runs the test script. If the project needs no packages, this is
 * npm, because swarm's image then has no other package manager.
 */
function managerOf(tree: Tree, image: SandboxImageLayers): PackageManager {
  const [layer] = rootLayers(image, javascript);
  if (layer) return layer.manager;
  if (!image.isOwn && !asksForPackages(tree.text("package.json"))) return "npm";
  if (tree.has("pnpm-lock.yaml")) return "pnpm";
  if (tree.has("yarn.lock")) return "yarn";
  return tree.has("bun.lock") || tree.has("bun.lockb") ? "bun" : "npm";
}

/** Returns `scripts.test` from the text of a package.json or composer.json. */
function testScript(manifest: string): string | null {
  const scripts = parseJsonObject(manifest)?.["scripts"];
  const script = isJsonObject(scripts) ? scripts["test"] : undefined;
  if (Array.isArray(script)) return script.length > 0 ? script.join("\n") : null;
  return typeof script === "string" && script.trim() !== "" ? script : null;
}

function asksForPackages(manifest: string): boolean {
  const parsed = parseJsonObject(manifest);
  return ["dependencies", "devDependencies", "optionalDependencies"].some((field) => {
    const packages = parsed?.[field];
    return isJsonObject(packages) && Object.keys(packages).length > 0;
  });
}

function pytestMark(tree: Tree): string | null {
  if (tree.has("pytest.ini")) return "the repository has a pytest.ini";
  const configured = pythonFiles.find((file) =>
    parseTomlSections(tree.text(file)).some(({ name }) =>
      /^(?:tool\.pytest|tool:pytest$|pytest$)/.test(name),
    ),
  );
  if (configured !== undefined) return `${configured} contains pytest settings`;
  const isPython = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"].some(tree.has);
  const hasTests = tree.hasLike(/^tests?\/(?:.*\/)?(?:test_[^/]*|[^/]*_test|conftest)\.py$/);
  return isPython && hasTests ? "there are Python tests" : null;
}
