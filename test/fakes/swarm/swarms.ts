import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inject, type TestAPI } from "vitest";
import type { ExecExit } from "../../../src/engine/containers.ts";
import type { CrashPoint } from "../../../src/machine/crash-points.ts";
import type { ContainerRecord, SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type Finished, swarm, swarmProgram } from "../cli/swarm-command.ts";
import { openEngine } from "../engine/engine-at.ts";
import { test as folderTest, writeTask } from "../folders.ts";
import { git, write } from "../git/repository.ts";
import { storyWith, taskFileWith } from "../tasks/task-files.ts";

const crashProcess = fileURLToPath(new URL("crash-process.ts", import.meta.url));

/** A repository in a folder that is also the home of whoever uses it. */
export interface SwarmPlace {
  readonly repository: string;
  readonly folder: string;
}

/** Whoever runs the tests may have a key; it is not for them. */
const noKeys = { ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "", CLAUDE_CODE_OAUTH_TOKEN: "" };

/** The environment of commands that use the tests' engine. */
export function swarmEnv({ folder }: SwarmPlace): Record<string, string> {
  const places = {
    HOME: folder,
    SWARM_STATE_DIR: inject("stateFolder"),
    DOCKER_HOST: inject("endpoint"),
  };
  // By itself a swarm leaves room for the sandboxes of other tests, and workers that wait for each other need it, too.
  return { ...noKeys, ...places, SWARM_PARALLEL: "4" };
}

/** `swarm …` in the repository. */
export function swarmIn(place: SwarmPlace, ...words: string[]): Promise<Finished> {
  return swarm({ folder: place.repository, env: swarmEnv(place) }, ...words);
}

/** `swarm …` that kills itself at a point, or after a time, or has a clock that jumps; says how it ended. */
export async function killedAt(
  place: SwarmPlace,
  where: CrashPoint | `${number}ms` | "jumping",
  ...words: string[]
): Promise<{
  readonly signal: NodeJS.Signals | null;
  readonly exit: number | null;
  readonly stderr: string;
}> {
  const child = spawn(process.execPath, [crashProcess, where, ...words], {
    cwd: place.repository,
    env: { ...process.env, ...swarmEnv(place) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const stderr = Buffer.concat(await child.stderr.toArray()).toString();
  const [exit, signal] = (await exited) as [number | null, NodeJS.Signals | null];
  return { signal, exit, stderr };
}

export interface BegunSwarm {
  readonly owner: ChildProcess;
  readonly ended: Promise<Finished>;
  /** Resolves with the next line that says this. */
  reach(words: string): Promise<void>;
}

/** `swarm …` that is let run, up to the first line that says this. */
export async function begun(place: SwarmPlace, line: string, ...words: string[]): Promise<BegunSwarm> {
  const owner = spawn(swarmProgram, words, {
    cwd: place.repository,
    env: { ...process.env, ...swarmEnv(place) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = Promise.all([once(owner, "exit"), owner.stdout.toArray()]).then(([[exit], stdout]) => ({
    exit: exit as number | null,
    stdout: Buffer.concat(stdout).toString(),
    stderr: "",
  }));
  const lines = createInterface(owner.stderr)[Symbol.asyncIterator]();
  const reach = async (wanted: string): Promise<void> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`It ended without saying ${wanted}`);
      if (String(value).includes(wanted)) return;
    }
  };
  await reach(line);
  return { owner, ended, reach };
}

/** Everything of this repository's workers, and of what they need, that is on the engine. */
export async function leftOnEngine(place: SwarmPlace): Promise<string[]> {
  const { volumes, containers, networks } = await openEngine(inject("endpoint")).open();
  const marks = marksOf(place);
  if (!marks) return [];
  const names = await volumes.list(marks);
  const looked = await Promise.all(names.map((name) => containers.inspect(name)));
  return [
    ...names,
    ...looked.flatMap((facts) => (facts ? [`container ${facts.name}`] : [])),
    ...(await networks.list(marks)).map((name) => `network ${name}`),
  ];
}

/** Removes what workers of this repository left, and its image. Others are at work on the same engine. */
export async function clearEngine(place: SwarmPlace): Promise<void> {
  const { images, containers, volumes, networks } = await openEngine(inject("endpoint")).open();
  const marks = marksOf(place);
  if (!marks) return;
  const names = await volumes.list(marks);
  // The gateway last of all: what it stands in is not to be taken from under it.
  for (const name of names) await containers.remove(name.replace(/\.(home|door)$/, ""));
  for (const name of names) await volumes.remove(name);
  for (const name of await networks.list(marks)) await networks.remove(name);
  for (const { id } of await images.list({ ...marks, "org.aimi.role": "project-image" }))
    await images.remove(id);
}

/** Null before the project got its identity. */
export function projectOf({ repository }: SwarmPlace): string | null {
  const file = join(repository, ".git/aimi/id");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { id: string }).id : null;
}

function marksOf(place: SwarmPlace): Record<string, string> | null {
  const id = projectOf(place);
  return id === null ? null : { "org.aimi.project": id };
}

/** A repository on the tests' engine; what workers left there is gone afterwards. */
export const test: TestAPI<{ folder: string; repository: string; place: SwarmPlace }> = folderTest.extend<{
  place: SwarmPlace;
}>({
  place: async ({ repository, folder }, use) => {
    const place = { repository, folder };
    await use(place);
    await clearEngine(place);
  },
});

/** What a scripted agent does, in a file below `.aimi`. */
export function writeScript({ repository }: SwarmPlace, name: string, content: unknown): void {
  write(repository, `.aimi/${name}`, JSON.stringify(content));
}

export interface LedgerWorker {
  readonly name: string;
  readonly dependsOn?: readonly string[];
  readonly stories: number;
  /** How long each story takes, as `sleep` takes it. */
  readonly seconds?: number;
  readonly maxConcurrency?: number;
}

const taskName = (name: string): string => `2026-01-02-${name}-tasks.json`;
const storyIds = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `US-${String(index + 1).padStart(3, "0")}`);

/**
 * Task files whose agents keep a ledger outside of the repository of every story that they carry out, and bring it in with
 * each commit, so that whoever reads a branch sees how often each story was really carried out.
 */
export function writeLedgerTasks(place: SwarmPlace, workers: readonly LedgerWorker[]): void {
  for (const { name, dependsOn = [], stories, seconds = 0, maxConcurrency } of workers) {
    const ids = storyIds(stories);
    const wait = seconds > 0 ? `sleep ${seconds}; ` : "";
    const act = (id: string): string =>
      `echo ${id} >> ~/ledger; ${wait}echo ${id} > ${name}-${id}.txt; cp ~/ledger ${name}-ledger.txt`;
    writeScript(
      place,
      `${name}.json`,
      Object.fromEntries(ids.map((id) => [id, [{ run: ["sh", "-c", act(id)] }]])),
    );
    writeTask(
      place.repository,
      taskName(name),
      taskFileWith({
        metadata: {
          branchName: `feat/${name}`,
          agent: { kind: "script", script: `${name}.json` },
          ...(dependsOn.length > 0 && { dependsOn: dependsOn.map(taskName) }),
          ...(maxConcurrency !== undefined && { maxConcurrency }),
        },
        stories: ids.map((id, index) =>
          storyWith({ id, dependsOn: ids.slice(Math.max(0, index - 1), index) }),
        ),
      }),
    );
  }
}

/** What the branch of such a worker says: which stories were carried out, in which order, and which commits it has. */
export function ledgerOf(
  { repository }: SwarmPlace,
  { name, dependsOn = [] }: LedgerWorker,
): { readonly carriedOut: readonly string[]; readonly commits: number } {
  const base = dependsOn.length > 0 ? `feat/${dependsOn[0]}` : "main";
  return {
    carriedOut: git(repository, "show", `feat/${name}:${name}-ledger.txt`).trim().split("\n"),
    commits: Number(git(repository, "rev-list", "--count", `${base}..feat/${name}`)),
  };
}

/** What it should say. */
export function ledgerExpected({ stories }: LedgerWorker): ReturnType<typeof ledgerOf> {
  return { carriedOut: storyIds(stories), commits: stories };
}

/** The state as `--json` has it. */
export function stateOf({ stdout }: Finished): SwarmState {
  return (JSON.parse(stdout) as { readonly swarm: SwarmState }).swarm;
}

/** A task whose second story waits until somebody lets it go on, by a file in the agent's home. */
export function writeWaitingTask(
  place: SwarmPlace,
  name: string,
  second = "until test -e ~/go; do sleep 0.1; done",
): void {
  writeScript(place, `${name}.json`, {
    "US-001": [{ write: { path: `${name}.txt`, content: `${name}\n` } }],
    "US-002": [{ run: ["sh", "-c", `${second} && echo 2 >> ${name}.txt`] }],
  });
  writeTask(
    place.repository,
    `2026-01-02-${name}-tasks.json`,
    taskFileWith({
      metadata: { branchName: `feat/${name}`, agent: { kind: "script", script: `${name}.json` } },
      stories: [storyWith(), storyWith({ id: "US-002", dependsOn: ["US-001"] })],
    }),
  );
}

export async function recordOf(place: SwarmPlace, branch: string): Promise<ContainerRecord> {
  const { stdout } = await swarmIn(place, "state", "status");
  const record = (JSON.parse(stdout) as SwarmState).containers.find(
    ({ branchName }) => branchName === branch,
  );
  if (!record) throw new Error(`There is no worker for ${branch}`);
  return record;
}

/** Lets the second story of a waiting task go on. */
export async function letGo(name: string): Promise<void> {
  const exit = await runAsAgent(name, ["touch", "/home/agent/go"]);
  if (exit.kind !== "exited" || exit.code !== 0)
    throw new Error(`It was not let go: ${JSON.stringify(exit)}`);
}

/** Runs a command in a worker's container as the agent's user. */
export async function runAsAgent(name: string, command: readonly string[]): Promise<ExecExit> {
  const { containers } = await openEngine(inject("endpoint")).open();
  await using execution = await containers.exec(name, { command, user: "1000:1000", input: false });
  for await (const _ of execution.output);
  return execution.exit();
}
