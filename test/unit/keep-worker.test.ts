import { describe, expect, test } from "vitest";
import { SwarmError } from "../../src/domain/errors.ts";
import { progressOf } from "../../src/domain/worker-record.ts";
import { fakeSwarm } from "../fakes/fake-swarm.ts";

const away = new SwarmError("ENGINE_UNREACHABLE", { tried: ["/nowhere"] });

describe("a worker that is kept", () => {
  test("waits for an engine that is away, longer each time, and goes on when it is back", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { look } = swarm.containers;
    let times = 8;
    Object.assign(swarm.containers, {
      look: (...words: Parameters<typeof look>) => {
        times -= 1;
        return times < 0 ? look(...words) : Promise.reject(away);
      },
    });
    const { ended } = swarm.own();
    (await swarm.talk("one")).complete();

    expect((await ended).containers[0]?.status).toBe("completed");
    expect(swarm.waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test("is waited for no longer when its owner is to end, and is left as it is", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const owner = swarm.own();
    const { wait } = swarm.deps.timing;
    Object.assign(swarm.containers, { look: () => Promise.reject(away) });
    Object.assign(swarm.deps.timing, {
      wait: (...words: Parameters<typeof wait>) => {
        owner.halt.abort({ reason: "asked to stop", graceMs: 0 });
        return wait(...words);
      },
    });

    expect((await owner.ended).containers[0]).toMatchObject({ status: "pending", containerId: null });
  });

  test("is stopped with the reason when something stands in its way, and others go on", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { create } = swarm.containers;
    const refused = new SwarmError("CONTAINER_REFUSED", { name: "one", breaches: ["it is privileged"] });
    Object.assign(swarm.containers, {
      create: (...words: Parameters<typeof create>) =>
        words[0].name === swarm.nameOf("one") ? Promise.reject(refused) : create(...words),
    });
    const { ended } = swarm.own();
    (await swarm.talk("two")).complete();

    const { containers } = await ended;
    expect(containers[0]).toMatchObject({ status: "stopped", reason: { code: "CONTAINER_REFUSED" } });
    expect(containers[1]?.status).toBe("completed");
  });

  test("that ended stories between two interruptions may be interrupted as often again", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    for (let deaths = 0; deaths < 5; deaths += 1) await (await swarm.talk("one")).die();
    const talk = await swarm.talk("one");
    talk.tell("completed");
    await talk.die();
    (await swarm.talk("one")).complete();

    expect((await ended).containers[0]?.status).toBe("completed");
    expect(swarm.waits.at(-1)).toBe(250);
  });

  test("has the stories that its file has when it is asked for the first time", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const stories = [{ id: "US-009", status: "pending", commit: null, attempt: 1, reason: null }] as const;
    await swarm.deps.change(swarm.nameOf("one"), (record) => ({
      ...{ ...record, stories, storyProgress: progressOf(stories) },
    }));
    const { ended } = swarm.own();
    (await swarm.talk("one")).complete();

    expect((await ended).containers[0]).toMatchObject({
      ...{ status: "completed", stories: [{ id: "US-001" }], storyProgress: { total: 1, completed: 1 } },
    });
  });

  test("is remembered before its record says that it ended: a crash in between repeats only that", async () => {
    const swarm = fakeSwarm([{ slug: "one" }], {
      remember: async () => {
        remembered.push(swarm.record("one").status);
      },
    });
    const remembered: string[] = [];
    const { ended } = swarm.own();
    (await swarm.talk("one")).complete();
    await ended;

    expect(remembered).toEqual(["running"]);
  });
});
