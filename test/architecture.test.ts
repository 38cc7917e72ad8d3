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
    const present = new Set(
      sourceFiles().map((file) =>
        file.split("/").length > 2
          ? file.split("/").slice(0, 2).join("/")
          : file.startsWith("src/")
            ? file
            : dirname(file),
      ),
    );

    expect([...folders.keys()].sort()).toEqual([...present].sort());
    expect(topLevel.length).toBeGreaterThan(20);
  });

  const imports = sourceFiles().flatMap((file) => importsOf(file, readFileSync(join(root, file), "utf8")));

  test("every import goes down, and every package is at home where it is used", () => {
    expect(imports.length).toBeGreaterThan(100);

    expect(imports.flatMap(violationOf)).toEqual([]);
  });

  test.each([
    ["an upward import", { file: "src/domain/story-graph.ts", target: "../swarm/make-plan.ts" }],
    [
      "a provider that imports another",
      { file: "src/docker/docker-engine.ts", target: "../state/kernel-lock.ts" },
    ],
    ["a package in the wrong folder", { file: "src/swarm/make-plan.ts", target: "dockerode" }],
    ["a `node:` import in the domain", { file: "src/domain/slug.ts", target: "node:fs" }],
    ["a `node:` import in the ports", { file: "src/ports/lock.ts", target: "node:fs" }],
    [
      "a folder that the table does not know",
      { file: "src/helpers/strings.ts", target: "../domain/slug.ts" },
    ],
    ["a package behind the door", { file: "gateway/door.ts", target: "dockerode" }],
    ["a use case behind the door", { file: "gateway/door.ts", target: "../src/swarm/doors.ts" }],
    ["the in-container program behind the door", { file: "gateway/door.ts", target: "../adapter/desk.ts" }],
    ["an import from the tests", { file: "src/cli/table.ts", target: "../../test/counts.ts" }],
  ])("%s is refused", (_name, planted) => {
    expect(violationOf(planted)).not.toEqual([]);
  });

  test.each([
    ['import { a } from "./a.ts";', "./a.ts"],
    ['import type { A } from "../domain/a.ts";', "../domain/a.ts"],
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
      "src/host/engine-network.ts",
      "src/host/private-engine.ts",
      "src/host/start-git.ts",
      "src/library.ts",
      "src/main.ts",
      "src/whole-program.ts",
    ]);
  });

  test("modules fit on a screen or two", () => {
    const long = sourceFiles()
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

function violationOf({ file, target }: Import): string[] {
  const [home, rule] =
    [...folders].find(([folder]) => file === folder || file.startsWith(`${folder}/`)) ?? [];
  const complain = (what: string): string[] => [`${file} imports ${target}: ${what}`];
  if (!home || !rule) return complain("its folder is not in the table");
  if (target.startsWith("node:")) return rule.node ? [] : complain("this folder is pure");
  if (target.startsWith(".")) {
    const path = relative(root, normalize(join(root, dirname(file), target)));
    const allowed = [home, ...rule.imports].some(
      (folder) => path === folder || path.startsWith(`${folder}/`),
    );
    return allowed ? [] : complain(`${home} may import only ${rule.imports.join(", ") || "itself"}`);
  }
  return rule.packages.includes(target) ? [] : complain(`${home} is not the home of this package`);
}
