import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { watchProcess } from "../test/fakes/cli/watch-process.ts";
import { refuse } from "./bench.ts";
import { program } from "./command-start.ts";

/** What an owner may take: bytes, and a part of one core. */
export const maxMemory: number = 200 * 1024 ** 2;
export const maxShare = 0.15;
export const storyIds: readonly string[] = ["US-001", "US-002", "US-003"];

/** One run of a swarm, and what its owner took. */
export interface Ran {
  readonly ms: number;
  /** Of the owner's process, without git. */
  readonly memoryBytes: number;
  readonly cpuShare: number;
}

export const branchOf = (worker: number): string => `feat/worker${worker}`;
/** The file that a story leaves. */
export const fileOf = (worker: number, id: string): string => `worker${worker}-${id}.txt`;

/** Task files for workers 1 to N, each with three stories one after the other, and what their scripted agents do. */
export function writeTasks(
  repository: string,
  workers: number,
  act: (path: string, id: string) => readonly object[],
): void {
  const at = (...parts: string[]): string => join(repository, ".aimi", ...parts);
  mkdirSync(at("tasks"), { recursive: true });
  for (let worker = 1; worker <= workers; worker += 1) {
    const name = `worker${worker}`;
    writeFileSync(
      at(`${name}.json`),
      JSON.stringify(Object.fromEntries(storyIds.map((id) => [id, act(fileOf(worker, id), id)]))),
    );
    const metadata = {
      title: name,
      branchName: branchOf(worker),
      agent: { kind: "script", script: `${name}.json` },
    };
    const userStories = storyIds.map((id, index) => ({
      ...{ id, title: `Do ${id}`, description: id, acceptanceCriteria: [], priority: index },
      ...(index > 0 && { dependsOn: [storyIds[index - 1]] }),
    }));
    writeFileSync(
      at("tasks", `2026-01-02-${name}-tasks.json`),
      JSON.stringify({ schemaVersion: "3.3", metadata, userStories }),
    );
  }
}

/** `swarm start`, again from nothing: the branches of an earlier round go first. */
export async function carryOut(
  repository: string,
  {
    env,
    workers,
    together,
  }: { readonly env: NodeJS.ProcessEnv; readonly workers: number; readonly together: number },
): Promise<Ran> {
  for (let worker = 1; worker <= workers; worker += 1)
    execFileSync("sh", ["-c", `git branch -qD ${branchOf(worker)} 2>/dev/null; :`], { cwd: repository });
  const started = performance.now();
  const words = ["start", "--all", "--again", "--force", "--parallel", String(together), "--json"];
  const child = spawn(program, words, { cwd: repository, env, stdio: ["ignore", "ignore", "pipe"] });
  const said = child.stderr.toArray();
  const seen = watchProcess(child.pid ?? 0);
  const [exit] = await once(child, "exit");
  const ms = performance.now() - started;
  refuse(
    exit !== 0,
    `swarm start ended ${exit}: ${Buffer.concat(await said)
      .toString()
      .slice(-500)}`,
  );
  const { memoryBytes, cpuSeconds } = seen();
  return { ms, memoryBytes, cpuShare: cpuSeconds / (ms / 1_000) };
}

/** Every branch has its three commits, and each its file. */
export function refuseOther(
  repository: string,
  workers: number,
  branchOfWorker: (worker: number) => string,
): void {
  const git = (...words: string[]): string =>
    execFileSync("git", words, { cwd: repository, encoding: "utf8" });
  for (let worker = 1; worker <= workers; worker += 1) {
    const branch = branchOfWorker(worker);
    const commits = git("rev-list", "--count", `main..${branch}`).trim();
    const files = git("diff", "--name-only", "main", branch).trim().split("\n").sort();
    const expected = storyIds.map((id) => fileOf(worker, id));
    refuse(commits !== "3" || files.join() !== expected.join(), `${branch} has other work: ${files.join()}`);
  }
}
