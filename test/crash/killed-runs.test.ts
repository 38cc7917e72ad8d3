import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { findProcesses } from "../../src/machine/processes.ts";
import { eventually } from "../fakes/eventually.ts";
import { test as base } from "../fakes/folders.ts";

const program = fileURLToPath(new URL("../fakes/sandbox/begin-run-process.ts", import.meta.url));

// Only root may make namespaces.
const test = base.skipIf(process.getuid?.() !== 0);

/** A run that has begun a process in a session of its own, and a mount. */
interface Run {
  readonly npm: number;
  /** Those that belong to it; all, or those with a name and a word among their arguments. */
  processes(name?: RegExp, word?: string): Promise<number[]>;
  isMounted(): boolean;
}

async function begin(folder: string, how: "contained" | "plain"): Promise<Run> {
  const mount = join(folder, "mount");
  mkdirSync(mount);
  const script = `mount -t tmpfs none "$1" && setsid sh -c 'echo > "$1"; sleep 1000; :' sh "$1.begun" & wait; sleep 1000`;
  const npm = spawn(process.execPath, [program, how, "sh", "-c", script, "sh", mount], { stdio: "ignore" });
  const processes = (name = /./, word = ""): Promise<number[]> =>
    findProcesses(
      name,
      (argv) => argv.some((found) => found.startsWith(mount)) && argv.some((found) => found.endsWith(word)),
    );
  await eventually("the run's processes", async () => existsSync(`${mount}.begun`) || null);
  return {
    npm: npm.pid ?? 0,
    processes,
    isMounted: () => readFileSync("/proc/self/mounts", "utf8").includes(mount),
  };
}

const kill = (pids: readonly number[]): void => {
  for (const pid of pids) process.kill(pid, "SIGKILL");
};

test.for<[what: string, whom: (run: Run) => Promise<number[]>]>([
  ["npm", async ({ npm }) => [npm]],
  [
    "npm's shell",
    async ({ npm, processes }) => (await processes(/^sh$/)).filter((pid) => parentOf(pid) === npm),
  ],
  ["own program", ({ processes }) => processes(/^(?:node|MainThread)/, "/run-process.ts")],
  ["first process", ({ processes }) => processes(/^unshare/)],
])("a run whose %s is killed leaves no process and no mount", async ([, whom], { folder }) => {
  const run = await begin(folder, "contained");
  expect((await run.processes()).length).toBeGreaterThan(4);

  const [victim = 0] = await whom(run);
  expect(victim).toBeGreaterThan(0);
  kill([victim]);

  await eventually(
    "the end of all of them",
    async () => (await run.processes()).length === 0 || null,
    30_000,
  );
  expect(run.isMounted()).toBe(false);
});

test("without namespaces of its own, a killed run leaves both", async ({ folder }) => {
  const run = await begin(folder, "plain");

  kill([run.npm]);

  const left = await run.processes();
  expect(left).not.toEqual([]);
  expect(run.isMounted()).toBe(true);
  kill(left);
  execFileSync("umount", ["--lazy", join(folder, "mount")]);
});

/** The process that began another. */
function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
