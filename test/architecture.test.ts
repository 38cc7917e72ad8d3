import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  decisions,
  fullFolders,
  importCycles,
  largeParameters,
  longFiles,
  longFunctions,
  parseSource,
  processHandlers,
  readSources,
  type Source,
  spreadLiterals,
  unusedRules,
} from "./source-guards.ts";

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
      "src/engine/private/engine-daemon.ts",
      "src/engine/private/engine-network.ts",
      "src/git/start-git.ts",
      "src/main.ts",
    ]);
  });
});

describe("the guards", () => {
  const sources = readSources(
    root,
    sourceFiles().filter((file) => !file.startsWith("src/contract/")),
  );
  const app = sources.filter(({ file }) => file.startsWith("src/app/"));
  const importsByFile = new Map(
    sourceFiles().map((file) => [
      file,
      importsOf(file, readFileSync(join(root, file), "utf8"))
        .filter(({ target }) => target.startsWith("."))
        .map(({ target }) => join(dirname(file), target)),
    ]),
  );

  test("the sources are read", () => {
    expect(sources.length).toBeGreaterThan(500);
    expect(app.length).toBeGreaterThan(2);
  });

  test("no folder has more than 25 files", () => {
    const files = [...sourceFiles(), ...filesBelow("test")].filter((file) => /\.(?:ts|mjs|sh)$/.test(file));

    expect(fullFolders(files, 25)).toEqual([]);
  });

  test("no file has more than 300 lines, and none in `src/app` more than 150", () => {
    expect([...longFiles(sources, 300), ...longFiles(app, 150)]).toEqual([]);
  });

  test("no function has more than 100 lines", () => {
    expect(longFunctions(sources, 100)).toEqual([]);
  });

  test("no exported function takes an object of more than 10 members, the library's own aside", () => {
    const index = sources.find(({ file }) => file === "src/index.ts");

    expect(largeParameters(sources, 10, index)).toEqual([]);
  });

  test("`src/app` decides nothing", () => {
    expect(decisions(app)).toEqual([]);
  });

  test("no file imports itself through others, types included", () => {
    expect(importCycles(importsByFile)).toEqual([]);
  });

  test("no folder of the table imports itself through others", () => {
    const rows = new Map(
      [...folders].map(([folder, { imports }]) => [folder, imports.filter((it) => folders.has(it))]),
    );

    expect(importCycles(rows)).toEqual([]);
  });

  test("no literal is spread where it stands", () => {
    expect(spreadLiterals(sources)).toEqual([]);
  });

  test("only the start of a process handles the process's events", () => {
    const others = sources.filter(({ file }) => !/^src\/app\/|(?:^|\/)main\.ts$/.test(file));

    expect(processHandlers(others)).toEqual([]);
  });

  test("the product uses all that a folder `rules/` exports", () => {
    const scripts = filesBelow("scripts").filter((file) => /^scripts\/[^/]+\.ts$/.test(file));

    expect(unusedRules(sources, readSources(root, scripts))).toEqual([]);
  });

  const many = Array.from({ length: 11 }, (_, index) => `readonly m${index}: number;`).join("\n");

  test.each<[what: string, guard: (planted: readonly Source[]) => string[], text: string]>([
    ["a long file", (planted) => longFiles(planted, 300), "const a = 1;\n".repeat(301)],
    [
      "a long function",
      (planted) => longFunctions(planted, 100),
      `const a = {\n  b() {\n${"    c();\n".repeat(100)}  },\n};`,
    ],
    [
      "a parameter of eleven members",
      (planted) => largeParameters(planted, 10),
      `export function f({ m0 }: { ${many} }): void {}`,
    ],
    [
      "a parameter that inherits its eleventh member",
      (planted) => largeParameters(planted, 10),
      `interface A { ${many} }\ninterface B extends Omit<A, "m0"> { readonly b: number }\nexport function f(deps: B): void {}`,
    ],
    [
      "a parameter that picks eleven members",
      (planted) => largeParameters(planted, 10),
      `export const f = (deps: Pick<A, ${Array.from({ length: 11 }, (_, index) => `"m${index}"`).join(" | ")}>) => 1;`,
    ],
    ["a decision", decisions, "export const f = (a: boolean) => (a ? 1 : 2);"],
    ["a literal that is spread", spreadLiterals, "const a = { ...{ b, c }, d };"],
    ["a handler of the process", processHandlers, 'process.once("exit", () => {});'],
  ])("%s is refused", (_what, guard, text) => {
    expect(guard([parseSource("src/state/planted.ts", text)])).toHaveLength(1);
  });

  test("a folder of 26 files, a circle of imports and an unused rule are refused", () => {
    const files = Array.from({ length: 26 }, (_, index) => `src/a/${index}.ts`);
    const circle = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["a"]],
    ]);
    const rule = parseSource("src/state/rules/planted.ts", "export function unused(): void {}");

    expect(fullFolders(files, 25)).toHaveLength(1);
    expect(importCycles(circle)).toEqual(["a → b → c → a"]);
    expect(unusedRules([rule])).toEqual(["src/state/rules/planted.ts: unused"]);
  });

  test("each step of a task is a function that its file exports", () => {
    const steps = [
      ...readFileSync(join(root, "docs/one-task.md"), "utf8").matchAll(
        /^\| [^|]+ \| `(\w+)` \| `([^`]+)` \|$/gm,
      ),
    ];

    expect(steps.length).toBeGreaterThan(25);
    const missing = steps.filter(
      ([, name = "", file = ""]) =>
        !new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, "m").test(
          existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "",
        ),
    );
    expect(missing.map(([row]) => row)).toEqual([]);
  });

  test("every path in the table of questions exists, and each of the house's questions has a row", () => {
    const table = section("Where does X happen?");
    const paths = quoted(table).filter((word) => word.includes("/") && !word.startsWith(".aimi"));
    const questions = [...table.matchAll(/^\| ([^|]+\?) \|/gm)].map(([, question]) => question);

    expect(paths.length).toBeGreaterThan(100);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    for (const question of houseQuestions) expect(questions).toContain(question);
  });
});

/** What a stranger to the code asks first. */
const houseQuestions = [
  "Why is a container marked failed?",
  "How many workers run at once?",
  "What is in an agent's prompt?",
  "Why was a bundle refused?",
  "What does a model cost?",
  "Which check does `swarm run` choose?",
  "Why does a worker count as stalled?",
  "What does Ctrl-C do, and what does the second one?",
  "In which order are results merged, kept or set aside?",
  "How does a worker's placeholder become a real key?",
  "Which exit code does a timeout have?",
  "Why did swarm build an image again?",
  "What does the terminal show while a swarm runs?",
  "What does a duration such as `5m` mean?",
  "How long does swarm wait before it tries again?",
  "How is a further agent added?",
  "How is a further engine added?",
  "What is in a summary, and which sources does it use?",
  "Which entries of a tar archive are refused?",
  "When does a worker go on after its model's rate limit?",
];

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
