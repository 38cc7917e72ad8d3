import { beforeAll, describe, expect, inject } from "vitest";
import type { ConnectedEngine } from "../../../src/engine/engine.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  begun,
  leftOnEngine,
  letGo,
  recordOf,
  stateOf,
  swarmIn,
  test,
  writeWaitingTask,
} from "../../fakes/swarm/swarms.ts";

let engine: ConnectedEngine;

beforeAll(async () => {
  engine = await openEngine(inject("endpoint")).open();
});

describe("a swarm with an owner", () => {
  test("is paused, goes on, gets another task file, and is left to nobody else", async ({ place }) => {
    const { repository } = place;
    writeWaitingTask(place, "one");
    const { ended } = await begun(place, "US-002 in progress", "start", "--all", "--json");
    const { containerName: name } = await recordOf(place, "feat/one");

    expect((await swarmIn(place, "pause", "one")).exit).toBe(0);
    expect((await engine.containers.inspect(name))?.state).toBe("paused");
    expect((await recordOf(place, "feat/one")).paused).toMatchObject({
      reason: "the user paused the worker",
    });
    expect((await swarmIn(place, "unpause")).exit).toBe(0);
    expect((await engine.containers.inspect(name))?.state).toBe("running");

    const others = [swarmIn(place, "resume"), swarmIn(place, "start", "--all", "--again")];
    for (const { exit, stderr } of await Promise.all(others))
      expect([exit, stderr]).toEqual([6, expect.stringContaining("OWNED_BY_ANOTHER")]);
    writeWaitingTask(place, "two", "true");
    const appended = await swarmIn(place, "start", "2026-01-02-two-tasks.json", "--append");
    expect(appended, appended.stderr).toMatchObject({ exit: 0 });

    await letGo(name);
    const { exit, ...finished } = await ended;
    expect(exit).toBe(0);
    expect(stateOf({ exit, ...finished }).containers.map(({ status }) => status)).toEqual([
      "completed",
      "completed",
    ]);
    expect(git(repository, "show", "feat/one:one.txt")).toBe("one\n2\n");
    expect(git(repository, "show", "feat/two:two.txt")).toBe("two\n2\n");
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("whose container is killed, and then removed by hand, brings it to its end all the same", async ({
    place,
  }) => {
    const { repository } = place;
    writeWaitingTask(place, "one");
    const { ended, reach } = await begun(place, "US-002 in progress", "start", "--all", "--json");
    const { containerName: name } = await recordOf(place, "feat/one");

    await engine.containers.stop(name, { graceMs: 0 });
    await reach("again");
    await reach("US-002");
    await engine.containers.remove(name);
    await reach("again");
    await reach("US-002");
    await letGo(name);

    expect((await ended).exit).toBe(0);
    expect(git(repository, "log", "--format=%s", "main..feat/one").trim().split("\n")).toHaveLength(2);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("stops one worker, though it is paused, and goes on with it when asked; without an owner it is stopped, too", async ({
    place,
  }) => {
    writeWaitingTask(place, "one");
    writeWaitingTask(place, "two");
    const { owner, ended } = await begun(
      place,
      "two  US-002 in progress",
      "start",
      "--all",
      "--parallel",
      "2",
    );
    const { containerName: name } = await recordOf(place, "feat/one");

    expect((await swarmIn(place, "pause", "one")).exit).toBe(0);
    expect((await swarmIn(place, "stop", "one")).exit).toBe(0);
    expect(await recordOf(place, "feat/one")).toMatchObject({
      status: "stopped",
      reason: { code: "INTERRUPTED" },
      paused: null,
    });
    expect((await recordOf(place, "feat/two")).status).toBe("running");
    expect((await swarmIn(place, "retry", "one")).exit).toBe(0);

    owner.kill("SIGKILL");
    await ended;
    expect((await swarmIn(place, "stop")).exit).toBe(0);
    const statuses = [await recordOf(place, "feat/one"), await recordOf(place, "feat/two")];
    expect(statuses.map(({ status }) => status)).toEqual(["stopped", "stopped"]);
    expect((await engine.containers.inspect(name))?.state).not.toBe("running");
  });

  test("left in the background goes on by itself, and tells why it cannot", async ({ place }) => {
    writeWaitingTask(place, "one");

    const started = await swarmIn(place, "start", "--all", "-d", "--json");
    expect(started, started.stderr).toMatchObject({ exit: 0 });
    const { swarmId, pid } = JSON.parse(started.stdout) as { swarmId: string; pid: number };
    const { containerName: name } = await recordOf(place, "feat/one");
    const again = await swarmIn(place, "resume", "-d");
    expect(again).toMatchObject({ exit: 6, stderr: expect.stringContaining(`pid ${pid}`) });

    const stopped = stateOf(await swarmIn(place, "stop", "--json"));
    expect(stopped).toMatchObject({
      swarmId,
      containers: [{ status: expect.stringMatching(/^(stopped|pending)$/) }],
    });
    await begun(place, "US-002 in progress", "resume").then(async ({ ended }) => {
      await letGo(name);
      expect((await ended).exit).toBe(0);
    });
    expect(await leftOnEngine(place)).toEqual([]);
  });
});

describe("a swarm that is begun anew in the background", () => {
  test("is another one, whatever was left of the last", async ({ place }) => {
    writeWaitingTask(place, "one");
    const start = ["start", "--all", "--force", "-d", "--json"];
    const ids: string[] = [];
    for (let times = 0; times < 2; times += 1) {
      const { stdout, stderr } = await swarmIn(place, ...start);
      expect(stdout, stderr).not.toBe("");
      ids.push((JSON.parse(stdout) as { swarmId: string }).swarmId);
      expect((await swarmIn(place, "stop")).exit).toBe(0);
      expect((await swarmIn(place, "wait")).exit).toBe(8);
    }

    expect(new Set(ids).size).toBe(2);
    expect(stateOf(await swarmIn(place, "stop", "--json")).swarmId).toBe(ids[1]);
  });
});

describe("a worker that fails", () => {
  test("is tried again by the policy, and by `retry`, from its last good commit", async ({ place }) => {
    const { repository } = place;
    // The home folder is the same for every attempt, and each attempt tries a story twice.
    writeWaitingTask(place, "one", "echo x >> ~/tries; test $(wc -l < ~/tries) -ge 5");
    const first = await swarmIn(place, "start", "--all", "--max-attempts", "2", "--json");
    expect(first.exit, first.stderr).toBe(5);
    expect(stateOf(first).containers).toMatchObject([{ attempt: 2, status: "failed" }]);

    const second = await swarmIn(place, "retry", "@failed", "--json");

    expect(second.exit, second.stderr).toBe(0);
    const [record] = stateOf(second).containers;
    expect(record).toMatchObject({ attempt: 3, status: "completed", storyProgress: { completed: 2 } });
    expect(git(repository, "show", "feat/one:one.txt")).toBe("one\n2\n");
    expect(git(repository, "log", "--format=%s", "main..feat/one").trim().split("\n")).toHaveLength(2);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("ends the swarm with --fail-fast; the others can go on later", async ({ place }) => {
    writeWaitingTask(place, "bad", "until test -e ~/go; do sleep 0.1; done; false");
    writeWaitingTask(place, "good");
    const { ended, reach } = await begun(
      place,
      "bad  US-002 in progress",
      ...["start", "--all", "--fail-fast", "--json", "--parallel", "2"],
    );
    await letGo((await recordOf(place, "feat/bad")).containerName);
    await reach("bad  failed");

    const finished = await ended;

    expect(stateOf(finished).containers.map(({ branchName, status }) => [branchName, status])).toEqual([
      ["feat/bad", "failed"],
      ["feat/good", "stopped"],
    ]);
    expect(finished.exit).toBe(8);
  });
});
