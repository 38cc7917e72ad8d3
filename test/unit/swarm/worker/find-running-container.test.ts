import { describe, expect, test } from "vitest";
import type { SwarmState } from "../../../../src/contract/swarm-state.ts";
import type { Containers } from "../../../../src/engine/containers.ts";
import { labels } from "../../../../src/engine/engine.ts";
import { findRunningContainer } from "../../../../src/swarm/worker/find-running-container.ts";
import { specOf } from "../../../fakes/engine/containers-suite.ts";
import { fakeEngine } from "../../../fakes/engine/fake-engine.ts";
import { swarmOf } from "../../../fakes/state/records.ts";

const signal = new AbortController().signal;

type Act = (containers: Containers, id: string) => Promise<void>;
const nothing: Act = async () => {};

/** Looks for the first worker of a swarm whose container was treated like this. */
async function find(
  act: Act,
  {
    change = {},
    marks = {},
  }: { change?: Partial<SwarmState>; marks?: Readonly<Record<string, string>> } = {},
) {
  const engine = fakeEngine();
  const { id, name } = await engine.info();
  const ref = { id, name, endpoint: engine.endpoint, isolation: null };
  const state: SwarmState = { ...swarmOf(1), engine: ref, ...change };
  const [record] = state.containers;
  if (!record) throw new Error("a swarm of one has a record");
  const { containers } = await engine.open();
  const own = { [labels.project]: state.project.id, [labels.swarm]: state.swarmId, ...marks };
  const made = await containers.create(specOf("fake", "runc", { name: record.containerName, labels: own }));
  await containers.start(made.id);
  await act(containers, made.id);
  const found = await findRunningContainer({ recorded: async () => engine }, state, record, signal);
  return { found, made };
}

describe("the running container of a worker", () => {
  test("is found by its name", async () => {
    const { found, made } = await find(nothing);

    expect(found.containerId).toBe(made.id);
  });

  test.for<[was: string, hint: string, act: Act]>([
    ["exited", "swarm logs", (containers, id) => containers.stop(id, { graceMs: 0 })],
    ["paused", "swarm unpause", (containers, id) => containers.pause(id)],
    ["not created yet", "swarm logs", (containers, id) => containers.remove(id)],
  ])("is none that is %s, and the hint says what helps: %s", async ([was, hint, act]) => {
    await expect(find(act)).rejects.toMatchObject({
      code: "CONTAINER_NOT_RUNNING",
      details: { state: was },
      hint: expect.stringContaining(hint),
    });
  });

  test("is none of that name that belongs to somebody else", async () => {
    await expect(find(nothing, { marks: { [labels.swarm]: "another" } })).rejects.toMatchObject({
      code: "CONTAINER_NOT_RUNNING",
      details: { state: "unknown, because another container has this name" },
    });
  });

  test("is none on another engine than the swarm's, or on one that does not answer", async () => {
    const other = { name: "fake", id: "other", endpoint: "unix:///fake.sock", isolation: null };
    await expect(find(nothing, { change: { engine: other } })).rejects.toMatchObject({
      code: "ENGINE_CHANGED",
    });

    const state = { ...swarmOf(1), engine: other };
    const [record] = state.containers;
    if (!record) throw new Error("a swarm of one has a record");
    const engines = { recorded: async () => null };
    await expect(findRunningContainer(engines, state, record, signal)).rejects.toMatchObject({
      code: "ENGINE_UNREACHABLE",
      message: expect.stringContaining("unix:///fake.sock"),
    });
    await expect(
      findRunningContainer(engines, { ...state, engine: null }, record, signal),
    ).rejects.toMatchObject({
      code: "CONTAINER_NOT_RUNNING",
    });
  });
});
