import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

const page = readFileSync(join(root, "docs/architecture.md"), "utf8");

interface Rule {
  readonly imports: readonly string[];
  readonly packages: readonly string[];
  readonly node: boolean;
}

/** The table "Who may import whom", row by row. */
const folders: ReadonlyMap<string, Rule> = new Map(
  [
    ...section("Who may import whom").matchAll(/^\| `([^`]+)` \|[^|]*\|([^|]*)\|([^|]*)\| (yes|no) \|$/gm),
  ].map(([, folder = "", imports = "", packages = "", node]) => [
    folder,
    { imports: quoted(imports), packages: quoted(packages), node: node === "yes" },
  ]),
);

const topLevel = quoted(section("Top level"));

/** The use cases that lie in `src/swarm`, each a subject of its own. */
const useCases = ["cleanup", "merge", "report", "schedule", "worker"].map((name) => `src/swarm/${name}`);

/** Subjects that are values and rules as a whole. */
const valueFolders = ["agents", "contract", "egress", "errors", "text", "usage"].map((name) => `src/${name}`);

function section(title: string): string {
  const start = page.indexOf(`## ${title}`);
  const end = page.indexOf("\n## ", start + 1);
  return page.slice(start, end < 0 ? undefined : end);
}

function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

interface Import {
  readonly file: string;
  readonly target: string;
}

describe("the architecture", () => {
  test("the page's table has a row for every folder of sources, and no other", () => {
    const present = new Set(sourceFiles().map(subjectOf));

    expect([...folders.keys()].sort()).toEqual([...present].sort());
    expect(topLevel.length).toBeGreaterThan(20);
  });

  const imports = sourceFiles().flatMap((file) => importsOf(file, readFileSync(join(root, file), "utf8")));

  test("every import goes down, and every package is at home where it is used", () => {
    expect(imports.length).toBeGreaterThan(100);

    expect(imports.flatMap(violationOf)).toEqual([]);
  });

  test.each([
    ["an upward import", { file: "src/tasks/task-folder.ts", target: "../swarm/owner-loop.ts" }],
    [
      "an import of a nested subject",
      { file: "src/state/state-file.ts", target: "../swarm/merge/merge-report-file.ts" },
    ],
    [
      "an engine that imports another",
      { file: "src/engine/docker/images.ts", target: "../private/engine.ts" },
    ],
    ["a package in the wrong folder", { file: "src/tasks/make-plan.ts", target: "dockerode" }],
    ["a `node:` import in a pure subject", { file: "src/text/slugs.ts", target: "node:fs" }],
    ["a `node:` import in rules", { file: "src/state/rules/swarm-exit.ts", target: "node:fs" }],
    ["a package in rules", { file: "src/sandbox/rules/spec.ts", target: "write-file-atomic" }],
    ["an effect in rules", { file: "src/state/rules/swarm-exit.ts", target: "../state-file.ts" }],
    ["a folder that the table does not know", { file: "src/helpers/a.ts", target: "../text/slugs.ts" }],
    ["a package in the gateway", { file: "gateway/front/gateway-server.ts", target: "dockerode" }],
    [
      "a use case in the gateway",
      { file: "gateway/front/gateway-server.ts", target: "../../src/swarm/owner-loop.ts" },
    ],
    [
      "the adapter in the gateway",
      { file: "gateway/front/gateway-server.ts", target: "../../adapter/main.ts" },
    ],
    ["an import from the tests", { file: "src/cli/render/table.ts", target: "../../../test/counts.ts" }],
  ])("%s is refused", (_name, planted) => {
    expect(violationOf(planted)).not.toEqual([]);
  });

  test.each([
    ['import { a } from "./a.ts";', "./a.ts"],
    ['import type { A } from "../text/a.ts";', "../text/a.ts"],
    ['const a = await import("./lazy.ts");', "./lazy.ts"],
    ['export * from "./all.ts";', "./all.ts"],
    ['import "./effect.ts";', "./effect.ts"],
    ['type A = import("./typed.ts").A;', "./typed.ts"],
  ])("an import written as %s is seen", (text, target) => {
    expect(importsOf("src/cli/x.ts", text)).toEqual([{ file: "src/cli/x.ts", target }]);
  });

  test("nothing lies at the top that a decision has not put there", () => {
    const untracked = [".git", "node_modules", "dist"];

    const found = readdirSync(root).filter((name) => !untracked.includes(name));

    expect(found.filter((name) => !topLevel.includes(name))).toEqual([]);
  });

  test("only the process reads the environment", () => {
    const readers = sourceFiles().filter(
      (file) => file.startsWith("src/") && /process\.env(?!\w)/.test(readFileSync(join(root, file), "utf8")),
    );

    // The private engine hands the whole environment to the daemon and its tools, and git gets it; they read none of it.
    expect(readers.sort()).toEqual([
      "src/app/library.ts",
      "src/app/run-program.ts",
      "src/engine/private/engine-network.ts",
      "src/engine/private/private-engine.ts",
      "src/git/start-git.ts",
      "src/main.ts",
    ]);
  });

  test("modules fit on a screen or two", () => {
    const long = sourceFiles()
      .filter((file) => !file.startsWith("src/contract/"))
      .map((file) => [readFileSync(join(root, file), "utf8").split("\n").length, file] as const)
      .filter(([lines]) => lines > 420);

    expect(long).toEqual([]);
  });
});

function sourceFiles(): string[] {
  return ["src", "adapter", "gateway", "hooks"]
    .flatMap((folder) => filesBelow(folder))
    .filter((file) => file.endsWith(".ts") && !file.includes("/generated/"));
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(folder, name),
    );
  } catch {
    return [];
  }
}

function importsOf(file: string, text: string): Import[] {
  const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
  const pattern = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)["']([^"'\s]+)["']/g;
  return [...code.matchAll(pattern)].map(([, target = ""]) => ({ file, target }));
}

function subjectOf(file: string): string {
  if (/^src\/[^/]+$/.test(file)) return file;
  const nested = ["src/engine/docker", "src/engine/private", ...useCases].find((it) =>
    file.startsWith(`${it}/`),
  );
  return nested ?? (dirname(file).startsWith("src/") ? file.split("/").slice(0, 2).join("/") : dirname(file));
}

/** A folder `rules`, or a folder without effects: it decides from values alone. */
function isPure(file: string): boolean {
  return file.includes("/rules/") || valueFolders.some((folder) => file.startsWith(`${folder}/`));
}

function violationOf({ file, target }: Import): string[] {
  const subject = subjectOf(file);
  const rule = folders.get(subject);
  const complain = (what: string): string[] => [`${file} imports ${target}: ${what}`];
  if (!rule) return complain("its folder is not in the table");
  const isPackage = !target.startsWith(".");
  if (isPackage && isPure(file)) return complain("rules decide from values alone");
  if (target.startsWith("node:")) return rule.node ? [] : complain(`${subject} uses no module of Node`);
  if (isPackage)
    return rule.packages.includes(target) ? [] : complain(`${subject} is not the home of this package`);
  const path = relative(root, normalize(join(root, dirname(file), target)));
  if (isPure(file) && !isPure(path)) return complain("rules import only rules");
  const home = subjectOf(path);
  const isAllowed =
    home === subject || rule.imports.some((it) => it === home || (it === "src" && path.startsWith("src/")));
  return isAllowed || rule.imports.includes(path)
    ? []
    : complain(`${subject} may import only ${rule.imports.join(", ") || "itself"}`);
}
