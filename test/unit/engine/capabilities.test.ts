import { describe, expect, test } from "vitest";
import { requireCapability } from "../../../src/engine/capabilities.ts";
import type { ConnectedEngine, ContainerEngine, EngineCapabilities } from "../../../src/engine/engine.ts";
import { openEngines } from "../../../src/engine/engines.ts";
import { pauseWorkerForRateLimit } from "../../../src/swarm/worker/pause-worker.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";
import { recordWith } from "../../fakes/state/records.ts";

const none: EngineCapabilities = { pause: false, commit: false, subnets: false, namedVolumes: false };

/** The engine as commands get it. */
async function engineWith(capabilities?: EngineCapabilities): Promise<ContainerEngine> {
  const unused = () => Promise.reject(new Error("not needed"));
  const engine = fakeEngine({ ...(capabilities && { capabilities }) });
  return openEngines({
    chosen: async () => null,
    listCandidates: async () => [],
    connect: async () => engine,
    privateEngine: unused,
    countContent: unused,
    probes: { find: unused, store: unused },
  }).at("unix:///fake.sock");
}

type Action = (engine: ConnectedEngine) => Promise<unknown>;

const actions: readonly [name: keyof EngineCapabilities, said: string, action: Action][] = [
  ["pause", "cannot pause containers", ({ containers }) => containers.pause("one")],
  [
    "commit",
    "cannot create an image from a container",
    ({ containers }) => containers.commit("one", { tag: "one:1", labels: {} }),
  ],
  [
    "subnets",
    "cannot create networks with a chosen range of addresses",
    ({ networks }) => networks.create({ name: "one", labels: {}, internal: true, subnet: "10.214.0.0/29" }),
  ],
  ["namedVolumes", "cannot create volumes with names", ({ volumes }) => volumes.create("one", {})],
];

describe("an engine", () => {
  test.each(actions)(
    "that does not announce %s %s: the action throws ENGINE_LACKS",
    async (name, said, action) => {
      const engine = await engineWith({ ...none, [name]: false });

      await expect(action(await engine.open())).rejects.toMatchObject({
        code: "ENGINE_LACKS",
        message: `The engine at unix:///fake.sock ${said}`,
      });
      expect(() => requireCapability(engine, name)).toThrow(said);
    },
  );

  test.each(actions)("that announces %s is asked to do it", async (name, said, action) => {
    const engine = await engineWith({ ...none, [name]: true });

    const error = await action(await engine.open()).catch((thrown: unknown) => thrown);

    expect(String(error)).not.toContain(said);
    expect(() => requireCapability(engine, name)).not.toThrow();
  });

  test("that cannot pause lets a worker run on while its model is limited, and the record says until when", async () => {
    let record = { ...recordWith({}), status: "running" as const };
    const events: unknown[] = [];
    const pausing = (canPause: boolean) =>
      pauseWorkerForRateLimit(
        {
          store: {
            record: async () => record,
            change: async (_name, change) => {
              record = { ...record, ...change(record), status: "running" };
            },
          },
          sandboxes: {
            canPause,
            containers: { pause: () => Promise.reject(new Error("it was paused")) },
          },
          events: { emit: (event) => void events.push(event) },
          time: { clock: () => new Date(0), signal: new AbortController().signal },
        },
        record.containerName,
        60_000,
      );

    await expect(pausing(true)).rejects.toThrow("it was paused");
    await pausing(false);

    expect(record.paused).toMatchObject({ until: "1970-01-01T00:01:00.000Z" });
    expect(events).toHaveLength(1);
  });
});
