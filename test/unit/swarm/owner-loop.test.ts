import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { SwarmState } from "../../../src/contract/swarm-state.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { eventually } from "../../fakes/eventually.ts";
import { fakeSwarm } from "../../fakes/swarm/fake-swarm.ts";

const statusOf = ({ containers }: SwarmState): string[] => containers.map(({ status }) => status);

describe("the owner of a swarm", () => {
  test("begins what depends on something when that is completed, and ends when all are", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two", dependsOn: ["one"] }]);
    const { ended } = swarm.own();

    const one = await swarm.talk("one");
    expect(swarm.record("two").status).toBe("pending");
    expect(swarm.told).toContainEqual({ event: "waiting", worker: "two", why: "for worker one" });
    one.complete();
    (await swarm.talk("two")).complete();

    expect(statusOf(await ended)).toEqual(["completed", "completed"]);
    expect(await swarm.deps.sandboxes.volumes.list({}, swarm.deps.time.signal)).toEqual([]);
  });

  test("skips what depends on something that failed, and what depends on that", async () => {
    const swarm = fakeSwarm([
      { slug: "one" },
      { slug: "two", dependsOn: ["one"] },
      { slug: "three", dependsOn: ["two"] },
    ]);
    const { ended } = swarm.own();
    (await swarm.talk("one")).fail();

    const { containers } = await ended;

    expect(containers.map(({ status, reason }) => [status, reason?.code])).toEqual([
      ["failed", "UNKNOWN_ERROR"],
      ["failed", "DEPENDENCY_FAILED"],
      ["failed", "DEPENDENCY_FAILED"],
    ]);
  });

  test("skips one, too, that was stopped before it ever began", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two", dependsOn: ["one"] }]);
    await swarm.deps.store.change(swarm.nameOf("two"), (record) => ({ ...record, status: "stopped" }));
    const { ended } = swarm.own();
    (await swarm.talk("one")).fail();

    expect(statusOf(await ended)).toEqual(["failed", "failed"]);
  });

  test("begins no more than so many at once", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own({ parallel: 1 });

    const one = await swarm.talk("one");
    expect(swarm.record("two").status).toBe("pending");
    expect(swarm.told).toContainEqual({ event: "waiting", worker: "two", why: "for a free slot" });
    one.complete();
    (await swarm.talk("two")).complete();

    expect(statusOf(await ended)).toEqual(["completed", "completed"]);
  });

  test("begins no more than the lowest maxConcurrency of what is not finished, however it was started", async () => {
    const capped = ["one", "two"].map((slug) => ({ slug, maxConcurrency: 1 }));
    const swarm = fakeSwarm([...capped, { slug: "three" }, { slug: "four" }]);
    const { ended } = swarm.own({ parallel: 3 });

    for (const slug of ["one", "two"]) {
      const talk = await swarm.talk(slug);
      expect(statusOf(swarm.state()).filter((status) => status === "running")).toEqual(["running"]);
      talk.complete();
    }
    const [three, four] = [await swarm.talk("three"), await swarm.talk("four")];
    for (const talk of [three, four]) talk.complete();

    expect(statusOf(await ended)).toEqual(Array(4).fill("completed"));
  });

  test("begins as many as the engine's host holds, and others when another swarm ends", async () => {
    let others = { workers: 3, memoryBytes: 3 };
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }, { slug: "three" }, { slug: "four" }]);
    // Four workers of a byte each would fit into memory, six of them by the CPUs.
    const room = async () => ({ cpus: 3, memoryBytes: 5, name: "the engine's host", others });
    const { ended } = swarm.own({ parallel: "auto", room });

    const one = await swarm.talk("one");
    await setTimeout(50);
    expect(statusOf(swarm.state())).toEqual(["running", "pending", "pending", "pending"]);
    expect(swarm.told).toContainEqual({
      ...{ event: "waiting", worker: "two", why: "for memory and CPUs that other sandboxes may be using" },
    });
    others = { workers: 0, memoryBytes: 0 };
    const rest = await Promise.all(["two", "three", "four"].map((slug) => swarm.talk(slug)));
    expect(statusOf(swarm.state())).toEqual(Array(4).fill("running"));
    for (const talk of [one, ...rest]) talk.complete();

    expect(statusOf(await ended)).toEqual(Array(4).fill("completed"));
  });

  test("begins the next one though the last one ends while the engine's host is asked", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const isEnded = Promise.withResolvers<void>();
    let asked = 0;
    const { ended } = swarm.own({
      parallel: "auto",
      async room() {
        asked += 1;
        if (asked > 1) await isEnded.promise;
        const others = { workers: 0, memoryBytes: 0 };
        return { cpus: 1, memoryBytes: 2, name: "the engine's host", others };
      },
    });
    const one = await swarm.talk("one");
    await eventually("the second question", async () => {
      // Each change of the state wakes the owner.
      await swarm.deps.store.update((state) => ({ ...state }));
      return asked > 1 || null;
    });

    one.complete();
    await eventually(
      "the removal of the first worker",
      async () => swarm.told.some(({ event, worker }) => event === "removed" && worker === "one") || null,
    );
    // Its supervision ends in the promises that follow.
    await setImmediate();
    isEnded.resolve();

    (
      await Promise.race([swarm.talk("two"), ended.then(() => Promise.reject(new Error("it ended")))])
    ).complete();
    expect(statusOf(await ended)).toEqual(["completed", "completed"]);
  });

  test("begins one, and more as soon as the engine's host answers", async () => {
    let answers = false;
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const others = { workers: 0, memoryBytes: 0 };
    const { ended } = swarm.own({
      parallel: "auto",
      async room() {
        if (!answers) throw new SwarmError("ENGINE_UNREACHABLE", { tried: ["/nowhere"] });
        return { cpus: 3, memoryBytes: 10, name: "the engine's host", others };
      },
    });

    const one = await swarm.talk("one");
    expect(statusOf(swarm.state())).toEqual(["running", "pending"]);
    answers = true;
    const two = await swarm.talk("two");
    for (const talk of [one, two]) talk.complete();

    expect(statusOf(await ended)).toEqual(["completed", "completed"]);
  });

  test("tries again what failed as often as the policy says, and skips nothing meanwhile", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two", dependsOn: ["one"] }]);
    const { ended } = swarm.own({ policy: { maxAttempts: 2 } });

    const first = await swarm.talk("one");
    first.end({ kind: "exited", exitCode: 1, memoryExhausted: true, processes: null, unread: null });
    const second = await swarm.talk("one");
    expect(second.attempt).toBe(2);
    second.complete();
    (await swarm.talk("two")).complete();

    expect(statusOf(await ended)).toEqual(["completed", "completed"]);
    expect(swarm.told.filter(({ event }) => event === "skipped")).toEqual([]);
  });

  test("ends with the first failure where that was asked for, and asks the others to stop", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }, { slug: "three" }]);
    const { ended } = swarm.own({ parallel: 2, policy: { failFast: true } });
    const one = await swarm.talk("one");
    const two = await swarm.talk("two");
    one.fail();

    expect(statusOf(await ended)).toEqual(["failed", "stopped", "pending"]);
    expect(two.cancelled).toMatchObject([{ graceMs: 10_000 }]);
  });

  test("starts a container again that dies, and leaves it to people when no story comes of that", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    for (let deaths = 0; deaths < 6; deaths += 1) {
      const talk = await swarm.talk("one");
      // Its adapter says each time that it goes on.
      talk.tell("in_progress");
      await talk.die();
    }

    expect(statusOf(await ended)).toEqual(["stopped"]);
    expect(swarm.waits).toHaveLength(5);
  });

  test("is told of trouble of its own only when every worker has ended", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own();
    const outcome = ended.catch((error: unknown) => error);
    const one = await swarm.talk("one");
    const two = await swarm.talk("two");
    one.end({ kind: "nonsense" } as never);
    await swarm.until(() => one !== two);
    two.complete();

    expect(await outcome).toBeInstanceOf(Error);
    expect(swarm.record("two").status).toBe("completed");
  });

  test("asks its workers to stop when it cannot go on itself, and ends after them", async () => {
    let isBroken = false;
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { read } = swarm.deps.store;
    const broken = new SwarmError("STATE_MISSING", { file: "swarm-state.json" });
    Object.assign(swarm.deps.store, {
      read: () => (isBroken ? Promise.reject(broken) : read()),
    });
    const { ended } = swarm.own();
    const one = await swarm.talk("one");
    isBroken = true;
    swarm.write((state) => ({ ...state }));

    await expect(ended).rejects.toBe(broken);
    expect(one.cancelled).toHaveLength(1);
  });
});

describe("an owner that is asked to end", () => {
  test("begins nothing any more, and ends when those that run have stopped", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended, halt } = swarm.own({ parallel: 1 });
    const one = await swarm.talk("one");
    halt.abort({ reason: "asked to stop", graceMs: 60_000 });

    expect(statusOf(await ended)).toEqual(["stopped", "pending"]);
    expect(one.cancelled).toEqual([{ reason: "asked to stop", graceMs: 60_000 }]);
  });

  test("before it has begun, touches nothing", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const owner = swarm.own();
    owner.halt.abort({ reason: "asked to stop", graceMs: 0 });

    expect(statusOf(await owner.ended)).toEqual(["pending"]);
    expect(swarm.record("one").containerId).toBeNull();
  });

  test("while a worker's container is being made, starts it no more", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const owner = swarm.own();
    const { create } = swarm.containers;
    Object.assign(swarm.containers, {
      async create(...words: Parameters<typeof create>) {
        const created = await create(...words);
        owner.halt.abort({ reason: "asked to stop", graceMs: 0 });
        return created;
      },
    });

    await owner.ended;

    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("created");
  });

  test("lets a paused worker go on, so that it hears of it", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended, halt } = swarm.own();
    const one = await swarm.talk("one");
    await swarm.until(() => swarm.record("one").status === "running");
    swarm.wish({ of: "container", name: swarm.nameOf("one"), wish: "pause" });
    await swarm.until(() => swarm.record("one").paused !== null);

    halt.abort({ reason: "asked to stop", graceMs: 0 });

    expect(statusOf(await ended)).toEqual(["stopped"]);
    expect(one.resumed).toHaveLength(1);
    expect(swarm.record("one").paused).toBeNull();
  });

  test("stops containers at once when asked twice", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended, stopNow } = swarm.own();
    const one = await swarm.talk("one");
    const { containers } = swarm;
    const { stop } = containers;
    Object.assign(containers, {
      async stop(...words: Parameters<typeof stop>) {
        await stop(...words);
        one.end({ kind: "exited", exitCode: 143, memoryExhausted: false, processes: null, unread: null });
      },
    });
    const owner = { ended };
    swarm.wish({ of: "swarm", wish: "stop" });
    stopNow.abort();

    expect(statusOf(await owner.ended)).toEqual(["stopped"]);
  });

  test("that lost its ownership begins nothing any more, even while everything is paused", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    swarm.wish({ of: "swarm", wish: "pause" });
    const { ended, lost } = swarm.own();
    await swarm.until((state) => state.wish === null);
    lost.abort();

    expect(statusOf(await ended)).toEqual(["pending"]);
  });
});
