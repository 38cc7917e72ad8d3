import { containerListPath } from "../src/engine/docker/list-containers.ts";
import { type ContainerEngine, labels } from "../src/engine/engine.ts";
import { compareStateWithEngine } from "../src/state/compare-state-with-engine.ts";
import {
  type ContainerRecord,
  newSwarmState,
  type SwarmState,
  stateWithNewRecord,
} from "../src/state/rules/swarm-state.ts";
import { openEngine } from "../test/fakes/engine/engine-at.ts";
import { socketEngine } from "../test/fakes/engine/socket-engine.ts";
import { type Bench, type BenchContext, type Growth, refuse, timed } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { benchLabel, rawEngine, specFor } from "./containers.ts";

const swarmId = "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b";

/** Swarms of different sizes are different projects: each sees only its own containers. */
function scopeOf(count: number): { readonly projectId: string; readonly worktree: string } {
  return { projectId: String(count).padStart(32, "0"), worktree: "." };
}

/** Comparing the records of a swarm with what its engine says. */
export const reconcileBench: Bench = {
  title: "Comparing records with the engine",
  async prepare(context) {
    const { engine, docker, isShort, absent, folder, undo } = context;
    const fake = await socketEngine(folder);
    undo.use(fake);
    const at = (count: number): SwarmState => stateOf(count, (index) => `${index}`.padStart(64, "a"));
    const comparisons: Comparison[] = [];
    const fill = (count: number): SwarmState => {
      fake.containers.length = 0;
      const records = at(count);
      for (const { containerName, containerId, taskFilePath } of records.containers)
        fake.containers.push({
          id: containerId ?? "",
          name: containerName,
          labels: labelsOf(records, taskFilePath),
          state: "created",
        });
      return records;
    };
    const onSocket = openEngine(fake.endpoint);
    const one = rawEngine(fake.endpoint);
    const ofSocket = (count: number): Comparison => ({
      name: `compare ${count} workers with an engine`,
      ...{ against: "one list of the engine's", goal: { sign: "≤", ratio: 1.3 } },
      note: "an engine of the tests at a real socket; as many answers as lists are counted",
      async ours() {
        const records = fill(count);
        fake.asked.length = 0;
        const ms = await timed(() => compared(onSocket, records));
        refuse(
          fake.asked.filter((what) => what.includes("/containers/")).length !== 1,
          "it asked more than once",
        );
        return ms;
      },
      theirs: () => timed(async () => JSON.parse(await one.call("GET", containerListPath(scopeOf(count))))),
    });
    if (engine === null || isShort) return { comparisons: [ofSocket(500)] };

    const { endpoint } = await engine.info();
    const raw = rawEngine(endpoint);
    for (const count of [100, 500]) {
      const made = await madeOn(engine, count, context);
      comparisons.push({
        name: `compare ${count} workers with an engine`,
        ...{ against: "one list of the engine's", goal: { sign: "≤", ratio: 1.3 } },
        note: "containers on the real engine, everything agrees",
        ours: () => timed(() => compared(engine, made)),
        theirs: () => timed(async () => JSON.parse(await raw.call("GET", containerListPath(scopeOf(count))))),
      });
      if (docker === null) absent("docker inspect", "there is no docker command");
      else
        comparisons.push({
          name: `compare ${count} workers with an engine, per second`,
          ...{
            against: "docker inspect for each",
            goal: { sign: "≥", ratio: 50 },
            fewestRounds: count > 100 ? 1 : 2,
          },
          note: "one after the other, as a script does it",
          ours: async () => 1_000 / (await timed(() => compared(engine, made))),
          theirs: async () =>
            1_000 /
            (await timed(async () => {
              for (const { containerId } of made.containers) await docker("inspect", containerId ?? "");
            })),
        });
    }

    const growth = async (): Promise<Growth[]> => {
      const points: [number, number][] = [];
      for (const size of [1, 10, 100, 500]) {
        const records = fill(size);
        points.push([size, await bestOf(5, () => timed(() => compared(onSocket, records)))]);
      }
      return [
        { name: "comparing N workers with an engine", unit: "ms", series: [{ name: "swarm", points }] },
      ];
    };
    return { comparisons, growth };
  },
};

async function compared(engine: ContainerEngine, state: SwarmState): Promise<void> {
  const { reconciled, corrections, orphans } = await compareStateWithEngine(
    {
      store: { find: async () => state },
      owner: { holder: async () => null },
      findEngine: async () => engine,
      readJournal: async () => null,
    },
    { projectId: state.project.id, worktree: "." },
  );
  refuse(!reconciled || corrections.length > 0 || orphans.length > 0, "records and engine do not agree");
}

function labelsOf({ project }: SwarmState, taskFilePath: string): Record<string, string> {
  return {
    ...{ [labels.project]: project.id, [labels.worktree]: ".", [labels.swarm]: swarmId },
    ...{ [labels.taskFile]: taskFilePath, [labels.attempt]: "1", [benchLabel]: "bench" },
  };
}

function stateOf(count: number, idOf: (index: number) => string): SwarmState {
  const now = new Date();
  let state = newSwarmState({ id: scopeOf(count).projectId, slug: "bench", root: "/bench" }, swarmId, now);
  for (let index = 0; index < count; index += 1)
    state = stateWithNewRecord(
      state,
      {
        ...{
          containerName: `aimi-bench-${process.pid}-${count}-${index}`,
          taskFilePath: `.aimi/tasks/${index}-tasks.json`,
        },
        branchName: `feat/${index}`,
      },
      now,
    );
  const containers = state.containers.map(
    (record, index): ContainerRecord => ({ ...record, containerId: idOf(index) }),
  );
  return { ...state, containers, engine: { id: "test-engine", name: "test", endpoint: "", isolation: null } };
}

/** Containers that wait to be started, with records that say so. */
async function madeOn(engine: ContainerEngine, count: number, { undo }: BenchContext): Promise<SwarmState> {
  const { containers } = await engine.open();
  const planned = stateOf(count, () => "");
  const ids: string[] = [];
  undo.defer(async () => void (await Promise.all(ids.map((id) => containers.remove(id)))));
  const make = async (containerName: string, taskFilePath: string): Promise<string> => {
    const { id } = await containers.create(
      specFor({ name: containerName, labels: labelsOf(planned, taskFilePath) }),
    );
    ids.push(id);
    return id;
  };
  const idByName = new Map<string, string>();
  const waiting = [...planned.containers];
  const lane = async (): Promise<void> => {
    for (let record = waiting.shift(); record; record = waiting.shift())
      idByName.set(record.containerName, await make(record.containerName, record.taskFilePath));
  };
  await Promise.all([1, 2, 3, 4].map(lane));
  const containersMade = planned.containers.map(
    (record): ContainerRecord => ({
      ...record,
      containerId: idByName.get(record.containerName) ?? "",
    }),
  );
  const { id, name, endpoint } = await engine.info();
  return {
    ...planned,
    containers: containersMade,
    engine: { id, name, endpoint, isolation: null },
  };
}

async function bestOf(times: number, sample: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times; time += 1) best = Math.min(best, await sample());
  return best;
}
