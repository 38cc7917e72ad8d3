import { describe, expect } from "vitest";
import { labels } from "../../../src/engine/engine.ts";
import { type CheckStateDeps, compareStateWithEngine } from "../../../src/state/compare-state-with-engine.ts";
import { type RepairStateDeps, repairState } from "../../../src/state/repair-state.ts";
import { stateWithChangedRecord } from "../../../src/state/rules/swarm-state.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";
import { test } from "../../fakes/folders.ts";
import { now, swarmOf, worker } from "../../fakes/state/records.ts";
import { stateAt } from "../../fakes/state/state-at.ts";

const { project, swarmId } = swarmOf(0);
const scope = { projectId: project.id, worktree: "main" };
const nobody = { holder: async () => null };
const id = "a".repeat(64);

function labelsOf(index: number): Record<string, string> {
  return {
    [labels.project]: project.id,
    [labels.worktree]: "main",
    [labels.swarm]: swarmId,
    [labels.taskFile]: worker(index).taskFilePath,
    [labels.attempt]: "1",
  };
}

function checkDeps(folder: string, change: Partial<CheckStateDeps> = {}): CheckStateDeps {
  return {
    store: stateAt(folder).store,
    owner: nobody,
    findEngine: async () => null,
    readJournal: async () => null,
    ...change,
  };
}

describe("swarm state check", () => {
  test("without an engine it reconciles nothing, and says so", async ({ folder }) => {
    await stateAt(folder).store.create(swarmOf(1));

    expect(await compareStateWithEngine(checkDeps(folder), scope)).toMatchObject({
      reconciled: false,
      corrections: [],
    });
  });

  test("asks the swarm's own engine, and corrects nothing beside another one", async ({ folder }) => {
    const { store } = stateAt(folder);
    await store.create({
      ...swarmOf(1),
      engine: { name: "docker", endpoint: "unix:///mine.sock", id: "mine", isolation: null },
    });
    const asked: (string | null)[] = [];
    const findEngine = async (endpoint: string | null) => {
      asked.push(endpoint);
      return fakeEngine({ id: "another" });
    };

    await expect(compareStateWithEngine(checkDeps(folder, { findEngine }), scope)).rejects.toMatchObject({
      code: "ENGINE_CHANGED",
      exitCode: 3,
    });
    expect(asked).toEqual(["unix:///mine.sock"]);
  });

  test("a container that is gone is lost only if its volume is gone, too", async ({ folder }) => {
    const { store } = stateAt(folder);
    await store.create(swarmOf(1));
    await store.update((state) =>
      stateWithChangedRecord(state, worker(1).containerName, { containerId: id, status: "running" }, now),
    );
    const engine = fakeEngine();
    const actions = async (): Promise<string[]> =>
      (
        await compareStateWithEngine(checkDeps(folder, { findEngine: async () => engine }), scope)
      ).corrections.map(({ action }) => action.kind);

    expect(await actions()).toEqual(["set-status"]);
    engine.volumesByName.set(worker(1).containerName, labelsOf(1));
    expect(await actions()).toEqual(["collect-then-judge"]);
  });
});

describe("swarm state repair", () => {
  function repairDeps(folder: string, change: Partial<RepairStateDeps> = {}): RepairStateDeps {
    return {
      store: stateAt(folder).store,
      findEngine: async () => fakeEngine(),
      project: async () => project,
      rebind: async () => {},
      owner: nobody,
      readJournal: async () => null,
      branchOf: async () => null,
      newId: () => swarmId,
      clock: () => now,
      ...change,
    };
  }
  const request = { worktree: "main", rebound: null };

  test("adopts containers of this swarm that have no record, with what their journal says", async ({
    folder,
  }) => {
    await stateAt(folder).store.create(swarmOf(1));
    const engine = fakeEngine();
    engine.containers.push({
      name: worker(2).containerName,
      containerId: id,
      state: "exited",
      labels: labelsOf(2),
    });
    const readJournal: RepairStateDeps["readJournal"] = async () => ({
      attempt: 1,
      lastSeq: 7,
      statusById: new Map([["US-001", "completed"]]),
      completion: "completed",
      error: null,
      lastCheckpoint: null,
      isWhole: true,
      failedWork: [],
    });

    const { result, state } = await repairState(
      repairDeps(folder, { findEngine: async () => engine, readJournal }),
      request,
    );

    expect(result).toBe("corrected");
    expect(state.containers).toHaveLength(2);
    expect(state.containers[1]).toMatchObject({
      status: "completed",
      lastSeq: 7,
      branchName: `recovered/${worker(2).containerName}`,
    });
  });

  test("beside a living owner it refuses", async ({ folder }) => {
    const owner = { holder: async () => ({ pid: 7, host: "here", since: "now", command: "swarm start" }) };

    await expect(repairState(repairDeps(folder, { owner }), request)).rejects.toMatchObject({
      code: "OWNED_BY_ANOTHER",
    });
  });

  test("a state of another project is not touched unless the person says that this is a copy", async ({
    folder,
  }) => {
    const { store } = stateAt(folder);
    await store.create(swarmOf(2));
    const elsewhere = { project: async () => ({ ...project, id: "f".repeat(32) }) };

    await expect(repairState(repairDeps(folder, elsewhere), request)).rejects.toMatchObject({
      code: "PROJECT_MOVED",
    });
    expect((await store.read()).containers).toHaveLength(2);
    expect(await repairState(repairDeps(folder, elsewhere), { ...request, rebound: "copied" })).toMatchObject(
      {
        result: "begun anew",
        state: { containers: [] },
      },
    );
  });

  test("does to records what check says should be done, and then check is content", async ({ folder }) => {
    const { store } = stateAt(folder);
    await store.create(swarmOf(2));
    await store.update((state) =>
      stateWithChangedRecord(state, worker(1).containerName, { containerId: id, status: "running" }, now),
    );

    const { result, corrected, state } = await repairState(repairDeps(folder), request);

    expect({ result, corrected }).toEqual({ result: "corrected", corrected: [worker(1).containerName] });
    expect(state.containers[0]).toMatchObject({ status: "failed", reason: { code: "CONTAINER_LOST" } });
    expect(
      await compareStateWithEngine(checkDeps(folder, { findEngine: async () => fakeEngine() }), scope),
    ).toMatchObject({ corrections: [] });
  });

  test("labels that no state file may hold, and a second container of a recorded task, get no record", async ({
    folder,
  }) => {
    await stateAt(folder).store.create(swarmOf(1));
    const engine = fakeEngine();
    engine.containers.push(
      {
        name: "a",
        containerId: id,
        state: "running",
        labels: { ...labelsOf(2), [labels.taskFile]: "no-json" },
      },
      { name: "again", containerId: "b".repeat(64), state: "running", labels: labelsOf(1) },
    );

    const { state } = await repairState(repairDeps(folder, { findEngine: async () => engine }), request);

    expect(state.containers).toHaveLength(1);
    expect((await stateAt(folder).store.read()).containers).toHaveLength(1);
  });

  test("of the containers of several swarms it takes the swarm of most", async ({ folder }) => {
    const engine = fakeEngine();
    const others = "11111111-2222-4333-8444-555555555555";
    engine.containers.push(
      { name: "a", containerId: id, state: "running", labels: { ...labelsOf(1), [labels.swarm]: others } },
      { name: "b", containerId: "b".repeat(64), state: "running", labels: labelsOf(2) },
      { name: "c", containerId: "c".repeat(64), state: "running", labels: labelsOf(3) },
    );

    const { state } = await repairState(repairDeps(folder, { findEngine: async () => engine }), request);

    expect(state.swarmId).toBe(swarmId);
    expect(state.containers.map(({ containerName }) => containerName)).toEqual(["b", "c"]);
  });
});
