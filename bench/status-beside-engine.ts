import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baseImage } from "../src/domain/base-image.ts";
import type { ContainerRecord, SwarmState } from "../src/domain/swarm-state.ts";
import { type ContainerEngine, labels } from "../src/ports/engine.ts";
import { defaultLimits } from "../src/sandbox/sandbox-defaults.ts";
import { program } from "./command-start.ts";
import type { Comparison } from "./compare.ts";

const workers = 16;

/** `swarm status` of a swarm whose containers are on a local engine; none where there is no engine. */
export async function statusBesideEngine(
  repository: string,
  env: NodeJS.ProcessEnv,
  engine: ContainerEngine | null,
): Promise<AsyncDisposable & { readonly comparisons: readonly Comparison[] }> {
  await using made = new AsyncDisposableStack();
  if (engine === null) return { comparisons: [], [Symbol.asyncDispose]: async () => {} };
  execFileSync("git", ["init", "--quiet", repository]);
  execFileSync(program, ["state", "init"], { cwd: repository, env });
  for (let index = 1; index <= workers; index += 1)
    execFileSync(program, ["state", "add", "-", `aimi-bench-${process.pid}-${index}`, `${index}.json`, "b"], {
      ...{ cwd: repository, env },
    });
  const file = join(repository, ".aimi", "swarm-state.json");
  const state = JSON.parse(readFileSync(file, "utf8")) as SwarmState;
  const { id, name, endpoint } = await engine.info();
  const containers: ContainerRecord[] = [];
  for (const record of state.containers) {
    const containerId = await makeContainer(engine, state, record);
    made.defer(async () => (await engine.open()).containers.remove(containerId));
    containers.push({ ...record, containerId });
  }
  writeFileSync(
    file,
    JSON.stringify({ ...state, engine: { id, name, endpoint, isolation: null }, containers }),
  );
  const timed = (command: string, args: readonly string[], expected: RegExp) => async () => {
    const started = performance.now();
    const { stdout, status } = spawnSync(command, args, { cwd: repository, env, encoding: "utf8" });
    const ms = performance.now() - started;
    if (status === 0 && expected.test(stdout)) return ms;
    throw new Error(`${command} ${args.join(" ")} answered ${status}: ${stdout}`);
  };
  const held = made.move();
  return {
    comparisons: [
      {
        name: "swarm status beside an engine",
        against: "bare Node",
        goal: { sign: "≤", ratio: 1.8 },
        note: `time of the process, a swarm of ${workers} with containers, compared with a local engine`,
        ours: timed(program, ["status"], /16 workers/),
        theirs: timed(process.execPath, ["--eval", "process.stdout.write('x')"], /^x$/),
      },
    ],
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** One that waits, as its record says. */
async function makeContainer(
  engine: ContainerEngine,
  { project, swarmId }: SwarmState,
  { containerName, taskFilePath }: ContainerRecord,
): Promise<string> {
  const { containers } = await engine.open();
  const { id } = await containers.create({
    name: containerName,
    labels: {
      ...{ [labels.project]: project.id, [labels.worktree]: ".", [labels.swarm]: swarmId },
      ...{ [labels.taskFile]: taskFilePath, [labels.attempt]: "1", "org.aimi.test": "bench" },
    },
    ...{ image: baseImage, command: ["sleep", "600"], env: {}, user: "1000:1000", workdir: "/work" },
    ...{ runtime: "runc", network: { kind: "none" }, limits: defaultLimits },
    ...{ capabilities: [], readOnlyRoot: false, privileged: false, tmpBytes: 64 * 1024 ** 2, volumes: [] },
  });
  return id;
}
