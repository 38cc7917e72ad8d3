import { expect, test } from "vitest";
import { labels } from "../../../../src/engine/engine.ts";
import { createHostCapacityReader } from "../../../../src/swarm/worker/host-capacity.ts";
import { fakeEngine } from "../../../fakes/engine/fake-engine.ts";

const worker = (swarm: string, memoryBytes: number) => ({
  labels: { [labels.sandbox]: "true", [labels.role]: "worker", [labels.swarm]: swarm },
  memoryBytes,
});

test("a host has for a swarm what the sandboxes of others may not use, whatever they use now", async () => {
  const engine = fakeEngine();
  const room = createHostCapacityReader(engine, (found) => found[labels.swarm] === "ours");

  expect(await room()).toEqual({
    ...{ cpus: 2, memoryBytes: 8 * 1024 ** 3, name: "the engine's host" },
    others: { workers: 0, memoryBytes: 0 },
  });

  const single = { labels: { [labels.sandbox]: "true", [labels.role]: "sandbox" }, memoryBytes: 7 };
  engine.inUseNow.push(worker("ours", 1_000), worker("theirs", 30), worker("others", 5), single);
  expect((await room()).others).toEqual({ workers: 2, memoryBytes: 42 });

  engine.inUseNow.splice(1, 1);
  expect((await room()).others).toEqual({ workers: 1, memoryBytes: 12 });
});

test("an engine that is away is told as such, and asked again the next time", async () => {
  let answers = false;
  const away = fakeEngine({ answers: false });
  const there = fakeEngine();
  const room = createHostCapacityReader(
    {
      info: () => (answers ? there : away).info(),
      listSandboxesInUse: () => (answers ? there : away).listSandboxesInUse(),
    },
    () => false,
  );

  await expect(room()).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });
  answers = true;
  expect(await room()).toMatchObject({ cpus: 2 });
});
