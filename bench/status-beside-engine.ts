import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ContainerEngine, labels } from "../src/engine/engine.ts";
import type { ContainerRecord, SwarmState } from "../src/state/rules/swarm-state.ts";
import { type Bench, nothing } from "./bench.ts";
import { makeRepository, program } from "./command-start.ts";
import { benchLabel, specFor } from "./containers.ts";

const workers = 16;

/** `swarm status` of a swarm whose containers are on a local engine. */
export const status: Bench = {
  title: "swarm status beside an engine",
  async prepare({ folder, env, engine, undo }) {
    if (engine === null) return nothing;
    const repository = join(folder, "repository");
    makeRepository(repository, env);
    const file = join(repository, ".aimi", "swarm-state.json");
    const state = JSON.parse(readFileSync(file, "utf8")) as SwarmState;
    const { id, name, endpoint } = await engine.info();
    const containers: ContainerRecord[] = [];
    for (const record of state.containers) {
      const containerId = await makeContainer(engine, state, record);
      undo.defer(async () => (await engine.open()).containers.remove(containerId));
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
    };
  },
};

/** One that waits, as its record says. */
async function makeContainer(
  engine: ContainerEngine,
  { project, swarmId }: SwarmState,
  { containerName, taskFilePath }: ContainerRecord,
): Promise<string> {
  const { containers } = await engine.open();
  const own = {
    ...{ [labels.project]: project.id, [labels.worktree]: ".", [labels.swarm]: swarmId },
    ...{ [labels.taskFile]: taskFilePath, [labels.attempt]: "1", [benchLabel]: "bench" },
  };
  const { id } = await containers.create(specFor({ name: containerName, labels: own }));
  return id;
}
