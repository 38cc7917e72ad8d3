import { describe, expect, test } from "vitest";
import { SwarmError } from "../../../src/errors/errors.ts";
import type { OwnerCommand } from "../../../src/state/rules/owner-commands.ts";
import { type FakeSwarm, fakeSwarm } from "../../fakes/swarm/fake-swarm.ts";

const of = (
  swarm: FakeSwarm,
  slug: string,
  wish: Exclude<OwnerCommand, { of: "swarm" }>["wish"],
): OwnerCommand => ({
  ...{ of: "container", wish },
  name: swarm.record(slug).containerName,
});

const granted = (swarm: FakeSwarm): Promise<void> =>
  swarm.until(({ wish, containers }) => wish === null && containers.every((record) => record.wish === null));

describe("a wish", () => {
  test("stop: of one worker ends that one alone; its wish is cleared once it has", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own();
    await swarm.talk("one");
    const two = await swarm.talk("two");
    swarm.wish(of(swarm, "one", "stop"));
    await granted(swarm);

    expect(swarm.record("one")).toMatchObject({ status: "stopped", reason: { code: "INTERRUPTED" } });
    two.complete();
    await ended;
  });

  test("stop: a worker that waits is stopped, and begins when it is wished", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own({ parallel: 1 });
    const one = await swarm.talk("one");
    swarm.wish(of(swarm, "two", "stop"));
    await granted(swarm);
    expect(swarm.record("two").status).toBe("stopped");
    swarm.wish(of(swarm, "two", "retry"));
    await granted(swarm);
    expect(swarm.record("two").status).toBe("pending");

    one.complete();
    (await swarm.talk("two")).complete();
    await ended;
    expect(swarm.record("two").status).toBe("completed");
  });

  test("pause: of a worker that its model keeps waiting outlasts the model's limit", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    const one = await swarm.talk("one");
    const at = { since: "2026-01-02T03:04:05.000Z", until: "2026-01-02T04:00:00.000Z" };
    await swarm.containers.pause(swarm.nameOf("one"));
    await swarm.deps.store.change(swarm.nameOf("one"), (record) => ({
      ...{ ...record, paused: { reason: "model limit", ...at } },
    }));

    swarm.wish(of(swarm, "one", "pause"));
    await granted(swarm);

    expect(swarm.record("one").paused).toEqual({ ...at, reason: "the user paused the worker", until: null });
    swarm.wish(of(swarm, "one", "unpause"));
    await granted(swarm);
    one.complete();
    await ended;
  });

  test("stop: of a paused worker is heard", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    await swarm.talk("one");
    swarm.wish(of(swarm, "one", "pause"));
    await granted(swarm);
    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("paused");
    swarm.wish(of(swarm, "one", "stop"));

    await ended;
    expect(swarm.record("one")).toMatchObject({ status: "stopped", paused: null, wish: null });
  });

  test("stop: of all ends the owner, and is cleared with it", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own({ parallel: 1 });
    await swarm.talk("one");
    swarm.wish({ of: "swarm", wish: "stop" });

    const { wish, containers } = await ended;
    expect([wish, ...containers.map(({ status }) => status)]).toEqual([null, "stopped", "pending"]);
  });

  test("stop: that comes with a failure keeps the next attempt from beginning", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { update } = swarm.deps.store;
    Object.assign(swarm.deps.store, {
      update(change: Parameters<typeof update>[0]) {
        // Between the owner's look and its write.
        if (swarm.record("one").status === "failed" && swarm.record("one").wish === null)
          swarm.wish(of(swarm, "one", "stop"));
        return update(change);
      },
    });
    const { ended } = swarm.own({ policy: { maxAttempts: 2 } });
    (await swarm.talk("one")).end({
      kind: "exited",
      exitCode: 1,
      memoryExhausted: true,
      processes: null,
      unread: null,
    });

    await ended;
    expect(swarm.record("one")).toMatchObject({ status: "stopped", attempt: 2, wish: null });
  });

  test("pause and unpause: a running worker stands still, and its adapter learns for how long", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    const one = await swarm.talk("one");
    swarm.wish({ of: "swarm", wish: "pause" });
    await granted(swarm);
    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("paused");
    swarm.wish({ of: "swarm", wish: "unpause" });
    await granted(swarm);

    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("running");
    expect(one.resumed).toEqual([0]);
    one.complete();
    await ended;
  });

  test("unpause: of all lets every other worker go on where one is stuck", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own();
    const workers = [await swarm.talk("one"), await swarm.talk("two")];
    swarm.wish({ of: "swarm", wish: "pause" });
    await granted(swarm);
    const { unpause } = swarm.containers;
    const stuck = new SwarmError("CONTAINER_STUCK", { id: "one", operation: "unpause it", withinMs: 25_000 });
    Object.assign(swarm.containers, {
      unpause: (id: string) => (id === swarm.nameOf("one") ? Promise.reject(stuck) : unpause(id)),
    });
    swarm.wish({ of: "swarm", wish: "unpause" });
    await granted(swarm);

    expect((await swarm.containers.inspect(swarm.nameOf("two")))?.state).toBe("running");
    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("paused");
    const reason = { code: "CONTAINER_STUCK", message: expect.stringContaining("`pkill -KILL") };
    expect(swarm.told).toContainEqual({ event: "wish", wish: "unpause", reason });
    for (const worker of workers) worker.complete();
    await ended;
  });

  test("pause: of a worker whose container is only being made waits for that", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const begun = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    const { create } = swarm.containers;
    Object.assign(swarm.containers, {
      async create(...words: Parameters<typeof create>) {
        begun.resolve();
        await mayGoOn.promise;
        return create(...words);
      },
    });
    const { ended } = swarm.own();
    await begun.promise;
    swarm.wish(of(swarm, "one", "pause"));
    mayGoOn.resolve();
    const one = await swarm.talk("one");
    await granted(swarm);

    expect((await swarm.containers.inspect(swarm.nameOf("one")))?.state).toBe("paused");
    expect(swarm.record("one").paused).not.toBeNull();
    swarm.wish(of(swarm, "one", "unpause"));
    await granted(swarm);
    one.complete();
    await ended;
  });

  test("pause: where nothing runs, the owner waits until it may go on", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    swarm.wish({ of: "swarm", wish: "pause" });
    const { ended } = swarm.own();
    await granted(swarm);
    expect(swarm.record("one")).toMatchObject({
      status: "pending",
      paused: { reason: "the user paused the worker" },
    });
    swarm.wish({ of: "swarm", wish: "unpause" });
    (await swarm.talk("one")).complete();

    await ended;
    expect(swarm.told).toContainEqual({ event: "waiting", worker: "one", why: "paused" });
    expect(swarm.record("one").status).toBe("completed");
  });

  test("pause: of what could not begin anyway keeps no owner", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two", dependsOn: ["one"] }]);
    const { ended } = swarm.own();
    await swarm.talk("one");
    swarm.wish(of(swarm, "two", "pause"));
    await granted(swarm);
    swarm.wish(of(swarm, "one", "stop"));

    expect((await ended).containers.map(({ status }) => status)).toEqual(["stopped", "pending"]);
  });

  test("retry: a failed worker has its next attempt, and what was skipped waits with it again", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two", dependsOn: ["one"] }, { slug: "three" }]);
    const { ended } = swarm.own();
    (await swarm.talk("one")).fail();
    await swarm.until(() => swarm.record("two").status === "failed");
    const three = await swarm.talk("three");
    swarm.wish(of(swarm, "one", "retry"));

    const again = await swarm.talk("one");
    expect(again.attempt).toBe(2);
    expect(swarm.record("one")).toMatchObject({ containerName: swarm.nameOf("one", 2), wish: null });
    again.complete();
    (await swarm.talk("two")).complete();
    three.complete();
    expect((await ended).containers.map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "completed",
    ]);
  });

  test("retry: of a worker that is only just stopping waits until it has", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own();
    await swarm.talk("one");
    const two = await swarm.talk("two");
    const name = swarm.nameOf("one");
    swarm.wish(of(swarm, "one", "stop"));
    // Right when the record says stopped, and the owner has not yet let go of it.
    await swarm.until(() => swarm.record("one").status === "stopped");
    swarm.wish({ of: "container", name, wish: "retry" });

    (await swarm.talk("one")).complete();
    two.complete();
    expect((await ended).containers.map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("retry: is left to the next owner by one that is ending", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended, halt } = swarm.own();
    (await swarm.talk("one")).fail();
    await swarm.until(() => swarm.record("one").status === "failed");
    await swarm.talk("two");
    halt.abort({ reason: "asked to stop", graceMs: 0 });
    swarm.wish(of(swarm, "one", "retry"));

    await ended;
    expect(swarm.record("one")).toMatchObject({ status: "failed", wish: "retry" });
  });

  test("retry: that comes when all have just ended is left to the next owner, too", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own({ whenUnwatched: () => swarm.wish(of(swarm, "one", "retry")) });
    (await swarm.talk("one")).fail();

    await ended;
    expect(swarm.record("one")).toMatchObject({ status: "failed", wish: "retry" });
  });

  test("that cannot be granted is told, cleared, and ends nothing else", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    const one = await swarm.talk("one");
    const away = new SwarmError("ENGINE_UNREACHABLE", { tried: ["/nowhere"] });
    Object.assign(swarm.containers, { pause: () => Promise.reject(away) });
    swarm.wish(of(swarm, "one", "pause"));
    await granted(swarm);

    expect(swarm.told).toContainEqual(
      expect.objectContaining({ event: "wish", worker: "one", wish: "pause", reason: expect.anything() }),
    );
    expect(swarm.record("one").paused).toBeNull();
    one.complete();
    await ended;
  });
});
