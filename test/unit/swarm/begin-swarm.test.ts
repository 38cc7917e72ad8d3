import { describe, expect, test } from "vitest";
import type { EngineRef } from "../../../src/contract/swarm-state.ts";
import { findPendingCommands } from "../../../src/state/rules/owner-commands.ts";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type BeginSwarmRequest, beginSwarm, type PlannedWork } from "../../../src/swarm/begin-swarm.ts";
import { refuseEndedTasks } from "../../../src/swarm/start.ts";
import { findWorkerTask } from "../../../src/swarm/worker/find-worker-task.ts";
import type { LoadedTask } from "../../../src/tasks/rules/plan.ts";
import { now, recordWith, swarmOf } from "../../fakes/state/records.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

const engine = { id: "e", name: "docker", endpoint: "unix:///e.sock", isolation: "userns" } as const;

function workOf(slug: string): PlannedWork {
  const task: LoadedTask = {
    ...{ path: `.aimi/tasks/${slug}-tasks.json`, fileName: `${slug}-tasks.json`, sha256: slug },
    taskFile: taskFileWith({ metadata: { branchName: `feat/${slug}` } }),
  };
  return { slug, task };
}

/** `meanwhile` is what others write after the ownership began. */
async function begun(
  known: SwarmState | null,
  beginning: Partial<BeginSwarmRequest> = {},
  meanwhile: (state: SwarmState) => SwarmState = (state) => state,
  onWrite: (state: SwarmState) => void = () => {},
  on: EngineRef = engine,
): Promise<SwarmState> {
  let state = known && meanwhile(known);
  const put = async (next: SwarmState): Promise<SwarmState> => {
    state = next;
    onWrite(next);
    return next;
  };
  const read = async (): Promise<SwarmState> => state ?? swarmOf(0);
  return beginSwarm(
    {
      ...{ engine: on, project: swarmOf(0).project, clock: () => now, swarmId: "f".repeat(8) },
      store: {
        ...{ read, create: put, replace: put, find: async () => state, findCopy: async () => null },
        update: async (change) => put(change(await read())),
      },
    },
    { works: [], isNew: false, earlierCommands: known ? findPendingCommands(known) : [], ...beginning },
  );
}

describe("the beginning of a swarm", () => {
  test("has a record for each task; the same file once more is the same worker", async () => {
    const works = [workOf("one"), workOf("two")];
    const first = await begun(null, { works });
    const again = await begun(first, { works: [workOf("two"), workOf("three")] });

    expect(again.swarmId).toBe(first.swarmId);
    expect(again.containers.map(({ branchName }) => branchName)).toEqual([
      "feat/one",
      "feat/two",
      "feat/three",
    ]);
  });

  test.each([
    ["where none was", null, false],
    ["in place of one that has ended", swarmOf(1), true],
  ])(
    "is written with all its workers at once, %s: whoever is killed then has begun it",
    async (_, known, isNew) => {
      const written: SwarmState[] = [];
      const beginning = { works: [workOf("one"), workOf("two")], isNew };
      await begun(known, beginning, undefined, (state) => written.push(state));

      expect(written.map(({ containers, engine: on }) => [containers.length, on])).toEqual([[2, engine]]);
    },
  );

  test("gives a later worker with the slug of an earlier one another name", async () => {
    const other = workOf("one");
    const first = await begun(null, { works: [workOf("one")] });
    const { containers } = await begun(first, {
      works: [{ ...other, task: { ...other.task, path: ".aimi/tasks/other/one-tasks.json" } }],
    });

    expect(containers[1]?.containerName).toBe(`${containers[0]?.containerName}-2`);
  });

  test("one that goes on is written down with the filter that its sandboxes have from now on", async () => {
    const first = await begun(null, { works: [workOf("one")] });
    const words = { ...engine, systemCalls: "swarm's own filter" };

    const again = await begun(
      { ...first, engine: { ...engine, systemCalls: "another" } },
      {},
      undefined,
      undefined,
      words,
    );
    const untold = await begun({ ...first, engine: words });

    expect(again.engine).toEqual(words);
    expect(untold.engine).toEqual(words);
  });

  test("goes on on no other engine", async () => {
    const known = { ...swarmOf(1), engine: { ...engine, id: "another" } };

    await expect(begun(known)).rejects.toMatchObject({ code: "ENGINE_CHANGED" });
  });

  test("takes back what kept its workers: pauses, and wishes that nobody waits for any more", async () => {
    const paused = { reason: "the user paused the worker", since: now.toISOString(), until: null };
    const known: SwarmState = {
      ...{ ...swarmOf(0), wish: "stop" },
      containers: [
        recordWith({ containerName: "one", status: "stopped", wish: "stop" }),
        recordWith({ containerName: "two", paused, wish: "pause" }),
        recordWith({ containerName: "three", status: "running", paused }),
        recordWith({ containerName: "four", status: "failed", wish: "retry" }),
      ],
    };

    const { wish, containers } = await begun(known);

    expect(wish).toBeNull();
    expect(containers.map((record) => [record.wish, record.paused !== null])).toEqual([
      [null, false],
      [null, false],
      [null, true],
      ["retry", false],
    ]);
  });

  test("keeps what is wished of the owner that it is the beginning of", async () => {
    const { wish, containers } = await begun(swarmOf(1), {}, (state) => ({
      ...{ ...state, wish: "stop" },
      containers: state.containers.map((record) => ({ ...record, wish: "pause" })),
    }));

    expect([wish, containers[0]?.wish]).toEqual(["stop", "pause"]);
  });
});

describe("a task file that has come to its end in a swarm that goes on", () => {
  const state = (status: "failed" | "completed" | "stopped"): SwarmState => ({
    ...swarmOf(0),
    containers: [
      recordWith({ taskFilePath: workOf("one").task.path, status }),
      recordWith({ containerName: "aimi-sample-2", taskFilePath: ".aimi/tasks/two-tasks.json" }),
    ],
  });

  test("is refused with what to type instead", () => {
    expect(() => refuseEndedTasks([workOf("one")], state("failed"))).toThrow("swarm retry one");
    expect(() => refuseEndedTasks([workOf("one")], state("completed"))).toThrow("--force");
  });

  test("is nobody's obstacle where it is not asked for, is unfinished, or all is", () => {
    refuseEndedTasks([workOf("three")], state("failed"));
    refuseEndedTasks([workOf("one")], state("stopped"));
    refuseEndedTasks([workOf("one")], null);
    const finished = state("failed");
    refuseEndedTasks([workOf("one")], { ...finished, containers: finished.containers.slice(0, 1) });
  });
});

describe("the task of a worker", () => {
  const file = workOf("one").task;
  const edited = { ...file, taskFile: taskFileWith({ stories: [storyWith({ id: "US-009" })] }) };
  const record = recordWith({ taskFilePath: file.path, attempt: 2 });
  const recalled = (asked: readonly number[], now: LoadedTask | null) =>
    findWorkerTask(
      {
        loadTask: async () => now,
        findRequest: async ({ attempt }) =>
          asked.includes(attempt) ? ({ taskFile: file.taskFile } as never) : null,
      },
      record,
    );

  test("is what its adapter was asked, however the file was edited since", async () => {
    expect(await recalled([2], file)).toEqual(file);
    expect(await recalled([2], edited)).toEqual({ ...file, sha256: null });
  });

  test("is what the file says where this attempt was not asked yet", async () => {
    expect(await recalled([1], edited)).toEqual(edited);
    expect(await recalled([], edited)).toEqual(edited);
  });

  test("is what was asked last where the file is gone, and unknown where nothing was", async () => {
    expect(await recalled([2], null)).toEqual({ ...file, sha256: null });
    expect(await recalled([1], null)).toEqual({ ...file, sha256: null });
    expect(await recalled([], null)).toBeNull();
  });
});
