import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, inject, test as plain } from "vitest";
import { labels } from "../../src/engine/engine.ts";
import { type Finished, swarm } from "../fakes/cli/swarm-command.ts";
import { dockerAt } from "../fakes/engine/engine-at.ts";
import { test } from "../fakes/folders.ts";
import { write } from "../fakes/git/repository.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const endpoint = inject("endpoint");
const env = { DOCKER_HOST: endpoint, SWARM_STATE_DIR: inject("stateFolder") };

/** The fenced blocks of a language on a page. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  );
}

/** The package as npm would ship it, with its dependencies beside it. */
function installPackage(folder: string): void {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  // Without scripts: `dist/` was built before, and building it here would take it away from other tests.
  const words = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const [archive = ""] = execFileSync("npm", words, { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n")
    .slice(-1);
  execFileSync("tar", ["--extract", "--file", archive, "--directory", modules], { cwd: folder });
  execFileSync("mv", ["package", "aimi-swarm"], { cwd: modules });
  rmSync(join(folder, archive));
  const linked = [...Object.keys(dependencies), "@types/node", "undici-types"];
  for (const name of linked) {
    const target = join(root, "node_modules", name);
    if (!existsSync(target)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(target, join(modules, name));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
}

async function node(folder: string, file: string): Promise<Finished> {
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const [stdout, stderr] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
  const [exit] = await exited;
  return { exit, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** Names of the containers and volumes of sandboxes on the engine. */
async function leftovers(): Promise<string[]> {
  const filters = JSON.stringify({ label: [`${labels.role}=sandbox`] });
  const docker = dockerAt(endpoint);
  const containers = await docker.listContainers({ all: true, filters });
  const { Volumes } = await docker.listVolumes({ filters });
  return [...containers.flatMap(({ Names }) => Names), ...(Volumes ?? []).map(({ Name }) => Name)];
}

describe("the page about the library", () => {
  const examples = blocks("docs/library.md", "js");

  beforeAll(() => {
    if (!existsSync(join(root, "dist", "types")))
      throw new Error("dist/ has no types: `npm run build` first");
  });

  plain("has two examples, and both import the package", () => {
    expect(examples).toHaveLength(2);
    for (const example of examples) expect(example).toMatch(/^import .* from "aimi-swarm";$/m);
  });

  test.for([
    ["a session", 0, "exit 0: 3 lines\nexit 3: no such luck\nfile count.py 54\n"],
    [
      "an agent of your own",
      1,
      [
        "readFile: FILE_NOT_FOUND: There is no file /workspace/sum.py in the container",
        "writeFile: wrote sum.py",
        "run: exit 1",
        "writeFile: wrote sum.py",
        "run: exit 0",
        "The sum is 55.\n",
      ].join("\n"),
    ],
  ] as const)(
    "%s runs as a user would run it, and leaves nothing on the engine",
    async ([, index, printed], { folder }) => {
      installPackage(folder);
      const file = write(folder, "example.mjs", examples[index] ?? "");

      const { exit, stdout, stderr } = await node(folder, file);

      expect(stdout, stderr).toBe(printed);
      expect(exit).toBe(0);
      expect(await leftovers()).toEqual([]);
    },
  );

  test("has types that a program of somebody else compiles with", ({ folder }) => {
    installPackage(folder);
    write(folder, "consumer.ts", consumer);
    const options = { module: "nodenext", target: "esnext", strict: true, noEmit: true, types: ["node"] };
    write(folder, "tsconfig.json", JSON.stringify({ compilerOptions: options, files: ["consumer.ts"] }));
    const compile = (): string =>
      execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", folder], {
        encoding: "utf8",
      });

    expect(compile()).toBe("");
    // Control: what is not there is an error, so the types are more than `any`.
    write(folder, "consumer.ts", `${consumer}\nawait sandbox.exec("ls -la");\n`);
    expect(compile).toThrow();
  });

  plain("names every function and property of a sandbox", async () => {
    const page = readFileSync(join(root, "docs/library.md"), "utf8");
    const declared = readFileSync(join(root, "src/sandbox/sandbox.ts"), "utf8");
    const [, body = ""] = /^export interface Sandbox extends [^{]*\{\n([\s\S]*?)^\}/m.exec(declared) ?? [];
    const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, name = ""]) => name);

    expect(members).toContain("exec");
    expect(members.filter((name) => !new RegExp(`\`${name}[\`(]`).test(page))).toEqual([]);
  });
});

const consumer = `import {
  buildBaseImage,
  type CommandResult,
  createSandbox,
  type EnsuredImage,
  isError,
  openSandbox,
  type Sandbox,
  type SandboxOptions,
} from "aimi-swarm";

const image: EnsuredImage = await buildBaseImage({ agents: [], onStep: (step: string) => console.log(step) });
const options: SandboxOptions = { image: image.tag, isolation: "auto", limits: { cpus: 1 }, labels: { mine: "yes" } };
await using sandbox: Sandbox = await createSandbox(options, AbortSignal.timeout(60_000));
const { exitCode, stdout }: CommandResult = await sandbox.exec(["ls", "-la"], {
  onOutput: ({ stream, bytes }) => console.log(stream, bytes.length),
});
const bytes: Uint8Array = await sandbox.readFile("note.txt", { maxBytes: 1_000 });
const names: string[] = (await sandbox.list()).map(({ name }) => name);
const { files } = await sandbox.copyOut("results", "results", { leaveOut: true });
const level: "shared-kernel" | "userns" | "strong" = sandbox.isolation;
console.log(exitCode, stdout, bytes.length, names, files, level, (await openSandbox(sandbox.id)).workdir);
try {
  await sandbox.sh("sleep 60", { timeoutMs: 10 });
} catch (error) {
  if (isError(error, "COMMAND_TIMEOUT")) console.log(error.details.limitMs + 1, error.exitCode, error.hint);
}
`;

describe("the page about single sandboxes", () => {
  const page = "docs/sandbox.md";
  const [spec = ""] = blocks(page, "yaml");
  const [task = ""] = blocks(page, "python");
  const [session = ""] = blocks(page, "console");

  /** Each command of the session, with the lines that the page shows below it. */
  const steps = session
    .split(/^\$ /m)
    .filter(Boolean)
    .map((step) => {
      const [command = "", ...shown] = step.trimEnd().split("\n");
      return { command, shown };
    });

  test("has a session that goes as it is shown", async ({ folder }) => {
    write(folder, "sandbox.yaml", spec);
    write(folder, "report.py", task);
    write(folder, "data/one.csv", "a\nb\nc\n");
    expect(steps.length).toBeGreaterThanOrEqual(5);

    try {
      let id = "";
      for (const { command, shown } of steps) {
        const [, ...words] = command.split(" ");
        const { exit, stdout, stderr } = await swarm({ folder, env }, ...words);
        id ||= idIn(stdout);

        expect(exit, stderr).toBe(0);
        const lines = `${stdout}${stderr}`.split("\n").map((line) => alike(line, id));
        const missing = shown
          .map((line) => alike(line, idIn(session)))
          .filter((line) => !lines.includes(line));
        expect(missing, lines.join("\n")).toEqual([]);
      }
      expect(readFileSync(join(folder, "copy.txt"), "utf8")).toBe("3 lines\n");
      const outputs = join(folder, ".aimi", "sandboxes", id, "outputs");
      expect(readFileSync(join(outputs, "report.txt"), "utf8")).toBe("3 lines\n");
    } finally {
      await swarm({ folder, env }, "sandbox", "destroy", "--all", "--purge");
    }
    expect(await leftovers()).toEqual([]);
  });

  function idIn(text: string): string {
    return /\.aimi\/sandboxes\/([\w-]{8})\//.exec(text)?.[1] ?? "";
  }

  /** Without what differs from one run to the next. */
  function alike(line: string, id: string): string {
    return line
      .replaceAll(id, "ID")
      .replace(/\b\d+(?:\.\d+)? m?s\b/g, "TIME")
      .trimEnd();
  }
});
