import { describe, expect, test } from "vitest";
import type { ProofReport } from "../../../../src/contract/proof.ts";
import { SwarmError } from "../../../../src/errors/errors.ts";
import { homeVolumeName } from "../../../../src/state/rules/worker-container-name.ts";
import { countStoryProgress } from "../../../../src/state/rules/worker-record.ts";
import { openNetworkAccessWithoutGateway } from "../../../../src/swarm/worker/network-access.ts";
import type { ProveResult } from "../../../../src/swarm/worker/owner-services.ts";
import { fakeSwarm } from "../../../fakes/swarm/fake-swarm.ts";

const away = new SwarmError("ENGINE_UNREACHABLE", { tried: ["/nowhere"] });

const budget = { code: "BUDGET_EXCEEDED", message: "the budget of the worker or of the swarm is used up" };

/** Network access that ends for one worker as soon as it is opened, or before. */
function endedAccess(slug: string) {
  const accessEnded = new AbortController();
  const never = new AbortController().signal;
  const closed: string[] = [];
  return {
    ...{ accessEnded, closed },
    networkAccess: {
      ...openNetworkAccessWithoutGateway({ kind: "none" }, () => null),
      async open(worker: { readonly slug: string }) {
        if (worker.slug === slug) accessEnded.abort(budget);
        return { network: { kind: "none" as const }, volumes: [], env: {} };
      },
      close: async (worker: { readonly slug: string }) => void closed.push(worker.slug),
      accessEnded: (asked: string) => (asked === slug ? accessEnded.signal : never),
    },
  };
}

describe("what a worker says that is no news of a story", () => {
  test("is in the state, whether or not anything more is said", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    const talk = await swarm.talk("one");

    talk.chat();
    await swarm.until(() => swarm.record("one").lastSeq === 1);
    talk.chat();
    await swarm.until(() => swarm.record("one").lastSeq === 2);

    talk.complete();
    await ended;
  });

  test("and cannot be written ends the worker at its next word, with the reason", async () => {
    const full = new SwarmError("STATE_WRITE_FAILED", { file: "state", reason: "ENOSPC", holds: "old" });
    const swarm = fakeSwarm([{ slug: "one" }]);
    Object.assign(swarm.deps.store, {
      changeSoon: async () => {
        throw full;
      },
    });
    const { ended } = swarm.own();
    const talk = await swarm.talk("one");

    talk.chat();
    talk.chat();

    const { containers } = await ended;
    expect(containers[0]).toMatchObject({ status: "stopped", reason: { code: "STATE_WRITE_FAILED" } });
  });
});

describe("a worker whose budget is used up", () => {
  test("before it could begin leaves nothing on the engine, and is let in no more", async () => {
    const { networkAccess, closed } = endedAccess("one");
    const swarm = fakeSwarm([{ slug: "one" }], { networkAccess });

    const { containers } = await swarm.own().ended;

    expect(containers[0]).toMatchObject({ status: "failed", reason: budget, containerId: null });
    expect(await swarm.containers.inspect(swarm.nameOf("one"))).toBeNull();
    expect(await swarm.deps.sandboxes.volumes.list({})).toEqual([]);
    expect(closed).toEqual(["one"]);
  });

  test("while nobody listened is joined once more, for what it may have to tell", async () => {
    const { networkAccess, accessEnded } = endedAccess("one");
    const swarm = fakeSwarm([{ slug: "one" }], { networkAccess });
    const { create, start, stop } = swarm.containers;
    const { id } = await create({
      name: swarm.nameOf("one"),
      command: ["sleep", "9"],
    } as unknown as Parameters<typeof create>[0]);
    await start(id);
    await stop(id, { graceMs: 0 });
    await swarm.deps.store.change(swarm.nameOf("one"), (record) => ({
      ...{ ...record, status: "running", containerId: id, baseCommit: "a".repeat(40) },
    }));
    accessEnded.abort(budget);

    const { ended } = swarm.own();
    const talk = await swarm.talk("one");

    expect((await ended).containers[0]).toMatchObject({ status: "failed", reason: budget });
    expect(talk.cancelled).toHaveLength(1);
  });
});

describe("a pause whose time is over", () => {
  test("ends a little later where the engine is away just then, and harms nobody", async () => {
    const swarm = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
    const { ended } = swarm.own();
    const [one, two] = [await swarm.talk("one"), await swarm.talk("two")];
    const { inspect } = swarm.containers;
    Object.assign(swarm.containers, { inspect: () => Promise.reject(away) });
    const until = new Date(swarm.deps.time.clock().getTime() - 1).toISOString();
    await swarm.deps.store.change(swarm.nameOf("one"), (record) => ({
      ...{ ...record, paused: { reason: "model limit", since: until, until } },
    }));
    await swarm.until(({ containers }) => (containers[0]?.paused?.until ?? until) > until);
    Object.assign(swarm.containers, { inspect: inspect });

    one.complete();
    two.complete();

    expect((await ended).containers.map(({ status }) => status)).toEqual(["completed", "completed"]);
  });
});

describe("a worker that is kept", () => {
  test("waits for an engine that is away, longer each time, and goes on when it is back", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { inspect } = swarm.containers;
    let times = 8;
    Object.assign(swarm.containers, {
      inspect: (...words: Parameters<typeof inspect>) => {
        times -= 1;
        return times < 0 ? inspect(...words) : Promise.reject(away);
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
    const { wait } = swarm.deps.time;
    Object.assign(swarm.containers, { inspect: () => Promise.reject(away) });
    Object.assign(swarm.deps.time, {
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
    const refused = new SwarmError("CONTAINER_REFUSED", {
      name: "one",
      breaches: ["the container is privileged"],
    });
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

  test.each([
    ["twice in the same way is not started a third time", [134, 134], "stopped", 1],
    ["in another way each time is", [134, 1, 134], "completed", 3],
    ["by kills from outside is", [137, 137, 143, 143], "completed", 4],
  ] as const)("whose container ended by itself: %s", async (_name, codes, status, restarts) => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    for (const code of codes) await (await swarm.talk("one")).die(code);
    if (status === "completed") (await swarm.talk("one")).complete();

    const { containers } = await ended;

    expect(containers[0]).toMatchObject({ status });
    expect(swarm.told.filter(({ event }) => event === "restarted")).toHaveLength(restarts);
    expect(swarm.told.filter(({ event }) => event === "given up")).toEqual(
      status === "completed"
        ? []
        : [
            {
              ...{ event: "given up", worker: "one" },
              why: "the worker ended twice with the same exit code: the container ended with 134 before the worker had finished",
            },
          ],
    );
  });

  test("whose container ended when its processes were used up has failed by that", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const { ended } = swarm.own();
    const processes = { now: 512, most: 512 };
    (await swarm.talk("one")).end({
      ...{ kind: "exited", exitCode: 2, memoryExhausted: false, processes, unread: null },
    });

    expect((await ended).containers[0]).toMatchObject({
      ...{ status: "failed", reason: { code: "PROCESSES_EXHAUSTED" } },
    });
    expect(swarm.told.filter(({ event }) => event === "restarted")).toEqual([]);
  });

  test("has the stories that its file has when it is asked for the first time", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    const stories = [{ id: "US-009", status: "pending", commit: null, attempt: 1, reason: null }] as const;
    await swarm.deps.store.change(swarm.nameOf("one"), (record) => ({
      ...{ ...record, stories, storyProgress: countStoryProgress(stories) },
    }));
    const { ended } = swarm.own();
    (await swarm.talk("one")).complete();

    expect((await ended).containers[0]).toMatchObject({
      ...{ status: "completed", stories: [{ id: "US-001" }], storyProgress: { total: 1, completed: 1 } },
    });
  });

  test("is remembered before its record says that it ended: a crash in between repeats only that", async () => {
    const swarm = fakeSwarm([{ slug: "one" }]);
    Object.assign(swarm.deps.tasks, {
      addToLedger: async () => {
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

describe("a result that is proved", () => {
  const proofOf = (verdict: ProofReport["verdict"]): ProofReport => ({
    ...{
      worker: "one",
      attempt: 1,
      commit: "c".repeat(40),
      base: "b".repeat(40),
      at: "2026-01-02T00:00:00.000Z",
    },
    ...{ verdict, why: "`npm test` exits with 1", checks: [], stories: [], weakenedTests: [], isCut: false },
  });

  test.for([
    ["broken", "failed", { code: "PROOF_FAILED", message: "`npm test` exits with 1" }],
    ["not-worse", "completed", null],
  ] as const)("to be %s has %s", async ([verdict, status, reason]) => {
    const proofs = { prove: async () => proofOf(verdict), find: async () => null };
    const swarm = fakeSwarm([{ slug: "one" }], { proofs });
    const { ended } = swarm.own();
    (await swarm.talk("one")).complete();

    const [record] = (await ended).containers;

    expect(record).toMatchObject({ status, reason, proof: { verdict } });
    // Its agent may be asked once more.
    expect(await swarm.deps.sandboxes.volumes.list({})).toEqual([homeVolumeName(swarm.nameOf("one"))]);
  });

  test.for([
    ["after the second Ctrl-C", true],
    ["after a while when the night ended", false],
  ] as const)("is not waited for %s, and is proved when it goes on", async ([, isAtOnce]) => {
    const begun = Promise.withResolvers<void>();
    const prove: ProveResult = async (_worker, _result, signal) => {
      begun.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      throw new Error("unreachable");
    };
    const swarm = fakeSwarm([{ slug: "one" }], { proofs: { prove, find: async () => null } });
    const { ended, halt, stopNow } = swarm.own();
    (await swarm.talk("one")).complete();
    await begun.promise;

    halt.abort({ reason: "asked to stop", graceMs: 1 });
    if (isAtOnce) stopNow.abort();

    const [record] = (await ended).containers;
    expect(record).toMatchObject({ status: "stopped", reason: { code: "INTERRUPTED" }, proof: null });
  });
});
