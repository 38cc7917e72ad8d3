import { describe, expect, test } from "vitest";
import type { ContainerFacts } from "../../../src/engine/containers.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import type { ContainerRecord, SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { stateWithReplacedRecord } from "../../../src/state/rules/swarm-state.ts";
import { type SteeringCommand, steerUnownedSwarm } from "../../../src/swarm/steer.ts";
import { fakeContainers } from "../../fakes/engine/fake-containers.ts";
import { now, recordWith, swarmOf } from "../../fakes/state/records.ts";

const paused = { reason: "the user paused the worker", since: "2026-01-02T03:00:00.000Z", until: null };

/** What becomes of one worker that nobody owns, and of its container. */
async function steered(
  wish: SteeringCommand,
  change: Partial<ContainerRecord>,
  container: "running" | "paused" | "created" | null,
): Promise<{ record: ContainerRecord | undefined; container: ContainerFacts["state"] | undefined }> {
  const record = recordWith({ containerName: "aimi-012345-3f2b8c-one", ...change });
  let state: SwarmState = { ...swarmOf(0), containers: [record] };
  const { containerName: name } = record;
  const containers = fakeContainers(async (_signal, result) => result());
  if (container !== null) await containers.create({ name, labels: {}, command: [] } as never);
  if (container === "running" || container === "paused") await containers.start(name);
  if (container === "paused") await containers.pause(name);
  const after = await steerUnownedSwarm(
    {
      ...{ containers, clock: () => now, signal: new AbortController().signal },
      store: {
        read: async () => state,
        update: async (next) => {
          state = next(state);
          return state;
        },
      },
    },
    wish,
    [name],
  );
  return { record: after.containers[0], container: (await containers.inspect(name))?.state };
}

describe("a worker that nobody owns", () => {
  test("stop: its container ends, and it is stopped and paused no more", async () => {
    for (const state of ["running", "paused"] as const) {
      const { record, container } = await steered(
        "stop",
        { status: "running", acpPid: 4711, ...(state === "paused" && { paused }) },
        state,
      );
      expect(container).toBe("exited");
      expect(record).toMatchObject({
        ...{ status: "stopped", reason: { code: "INTERRUPTED" }, paused: null, acpPid: null },
      });
    }
  });

  test("stop: where it has not begun, or its container is gone, there is nothing else to end", async () => {
    expect((await steered("stop", { status: "pending" }, null)).record?.status).toBe("stopped");
    expect((await steered("stop", { status: "running" }, null)).record?.status).toBe("stopped");
    expect(await steered("stop", { status: "running" }, "created")).toMatchObject({
      ...{ record: { status: "stopped" }, container: "created" },
    });
  });

  test("pause: its container stands still; for how long is known from its first pause", async () => {
    const first = await steered("pause", { status: "running" }, "running");
    expect(first).toMatchObject({ container: "paused", record: { paused: { since: now.toISOString() } } });

    const again = await steered("pause", { status: "running", paused }, "paused");
    expect(again).toMatchObject({ container: "paused", record: { paused } });
  });

  test("unpause: it goes on, and whoever joins it next can tell its adapter for how long it stood still", async () => {
    const { record, container } = await steered("unpause", { status: "running", paused }, "paused");

    expect(container).toBe("running");
    expect(record?.paused).toEqual({ ...paused, until: now.toISOString() });
  });

  test("unpause: one that has not begun is only paused no more", async () => {
    expect((await steered("unpause", { status: "pending", paused }, null)).record?.paused).toBeNull();
  });

  test("is left as it is when it has ended", async () => {
    for (const wish of ["stop", "pause", "unpause"] as const)
      for (const status of ["completed", "failed"] as const) {
        const ended = recordWith({ containerName: "aimi-012345-3f2b8c-one", status });
        const { record, container } = await steered(wish, { status }, "running");
        expect(stateWithReplacedRecord({ ...swarmOf(0), containers: [ended] }, ended).containers[0]).toEqual(
          record,
        );
        expect(container).toBe("running");
      }
  });
});

test("a worker whose container is stuck keeps none of the others from going on, and is told of", async () => {
  const names = ["aimi-012345-3f2b8c-one", "aimi-012345-3f2b8c-two"];
  const containers = fakeContainers(async (_signal, result) => result());
  for (const name of names) {
    await containers.create({ name, labels: {}, command: [] } as never);
    await containers.start(name);
    await containers.pause(name);
  }
  const stuck = new SwarmError("CONTAINER_STUCK", { id: "one", operation: "unpause it", withinMs: 25_000 });
  const unpause: typeof containers.unpause = (id, signal) =>
    id === names[0] ? Promise.reject(stuck) : containers.unpause(id, signal);
  let state: SwarmState = {
    ...swarmOf(0),
    containers: names.map((containerName) => recordWith({ containerName, status: "running", paused })),
  };
  const store = {
    read: async () => state,
    update: async (next: (before: SwarmState) => SwarmState) => {
      state = next(state);
      return state;
    },
  };
  const { signal } = new AbortController();

  const steering = steerUnownedSwarm(
    { store, containers: { ...containers, unpause }, clock: () => now, signal },
    "unpause",
    names,
  );

  await expect(steering).rejects.toBe(stuck);
  expect((await containers.inspect(names[1] ?? ""))?.state).toBe("running");
  expect(state.containers.map((record) => record.paused?.until)).toEqual([null, now.toISOString()]);
});
