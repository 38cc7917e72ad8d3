import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { statusDocument, statusLines, suggestNextCommand } from "../../../src/cli/render/status-lines.ts";
import { httpGetFromSocket } from "../../../src/engine/docker/http-get-from-socket.ts";
import { labels } from "../../../src/engine/engine.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { findKernelLockHolder } from "../../../src/machine/locks/lock-holder.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import {
  type ContainerRecord,
  type SwarmState,
  stateWithNewRecord,
} from "../../../src/state/rules/swarm-state.ts";
import {
  currentRecordCorrections,
  engineNeed,
  type SwarmStatus,
} from "../../../src/state/rules/swarm-status.ts";
import { findWaitingReason } from "../../../src/state/rules/waiting-reason.ts";
import { readSwarmStatus, type SwarmStatusDeps } from "../../../src/swarm/read-swarm-status.ts";
import { leftEngine } from "../../fakes/engine/left-engine.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { now, swarmOf, worker } from "../../fakes/state/records.ts";
import { stateAt } from "../../fakes/state/state-at.ts";

const { swarmId, project } = swarmOf(0);
const id = "a".repeat(64);
const scope = async () => ({ projectId: project.id, worktree: "main" });
const engineRef = { name: "docker", endpoint: "unix:///fake.sock", id: "fake", isolation: null };
const owner = { pid: 4711, host: "here", since: now.toISOString(), command: "swarm start --all" };

/** A swarm whose workers have a record as told, on an engine. */
function swarmWith(...changes: Partial<ContainerRecord>[]): SwarmState {
  const empty = { ...swarmOf(0), engine: engineRef };
  return changes.reduce<SwarmState>(
    (state, change, index) => stateWithNewRecord(state, { ...worker(index + 1), ...change }, now),
    empty,
  );
}

function labelsOf(index: number): Record<string, string> {
  return {
    ...{ [labels.project]: project.id, [labels.worktree]: "main", [labels.swarm]: swarmId },
    ...{ [labels.taskFile]: worker(index).taskFilePath, [labels.attempt]: "1" },
  };
}

const idOf = (index: number): string => String(index).padStart(64, "a");
const running = (index: number): Partial<ContainerRecord> => ({
  status: "running",
  containerId: idOf(index),
});

async function place(folder: string, state: SwarmState, change: Partial<SwarmStatusDeps> = {}) {
  const { store } = stateAt(folder);
  await store.create(state);
  const engine = leftEngine();
  const deps: SwarmStatusDeps = {
    ...{ store, findEngine: async () => engine, readJournal: async () => null, clock: () => now },
    owner: { holder: async () => null },
    hold: async () => ({ [Symbol.asyncDispose]: async () => {} }),
    ...change,
  };
  return { store, engine, look: () => readSwarmStatus(deps, scope) };
}

const refuse = (): never => {
  throw new Error("nobody may ask for that");
};

describe("swarm status", () => {
  test("a hundred workers that are as they should be cost one call to the engine, and no write", async ({
    folder,
  }) => {
    const indexes = Array.from({ length: 100 }, (_, index) => index + 1);
    const state = swarmWith(...indexes.map(running));
    const { store, engine, look } = await place(folder, state, { hold: refuse });
    for (const index of indexes)
      engine.put(worker(index).containerName, labelsOf(index), "running", idOf(index));

    const status = await look();

    expect(status).toMatchObject({ reconciled: true, corrections: [], orphans: [] });
    expect(engine.calls).toEqual(["listContainers"]);
    expect((await store.read()).revision).toBe(state.revision);
  });

  test("a container that somebody removed is told of and written down", async ({ folder }) => {
    const { store, engine, look } = await place(folder, swarmWith(running(1), running(2)));
    engine.put(worker(2).containerName, labelsOf(2), "running", idOf(2));

    const status = await look();

    expect(status?.corrections).toMatchObject([{ container: worker(1).containerName, applied: true }]);
    expect((await store.read()).containers).toMatchObject([
      { status: "failed", reason: { code: "CONTAINER_LOST" } },
      { status: "running" },
    ]);
    expect(statusLines(status as SwarmStatus, { now, dependsOn: () => [] }).join("\n")).toContain(
      "1: corrected: recorded as running, should be failed (CONTAINER_LOST",
    );
    expect(await look()).toMatchObject({ corrections: [] });
  });

  test("beside a living owner it is shown, and nothing is written", async ({ folder }) => {
    const { store, engine, look } = await place(folder, swarmWith(running(1), running(2)), {
      owner: { holder: async () => owner },
      hold: refuse,
    });
    engine.put(worker(2).containerName, labelsOf(2), "exited", idOf(2));

    const status = (await look()) as SwarmStatus;

    const lines = statusLines(status, { now, dependsOn: () => [] });
    expect(lines).toContainEqual(expect.stringMatching(/^owner: pid 4711 on here \(swarm start --all/));
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^1: recorded as running, should be failed .*; the owner \(pid 4711\) will correct the record$/,
      ),
    );
    expect(lines).toContain(
      "2: the container has exited; the owner (pid 4711) is collecting the worker's commits",
    );
    expect((await store.read()).containers.map((record) => record.status)).toEqual(["running", "running"]);
    expect(suggestNextCommand(status)).toContain("swarm wait");
  });

  test("when somebody becomes the owner meanwhile, it is left to them", async ({ folder }) => {
    let asked = 0;
    const { store, look } = await place(folder, swarmWith(running(1)), {
      owner: {
        holder: async () => {
          asked += 1;
          return asked > 2 ? owner : null;
        },
      },
      hold: async () => {
        throw new SwarmError("OWNED_BY_ANOTHER", { holder: "pid 4711" });
      },
    });

    expect(await look()).toMatchObject({ owner, corrections: [{ applied: false }] });
    expect((await store.read()).containers[0]?.status).toBe("running");
  });

  test("what needs work to be collected is left to `swarm resume`", async ({ folder }) => {
    const { store, engine, look } = await place(folder, swarmWith(running(1)));
    engine.put(worker(1).containerName, labelsOf(1), "exited", idOf(1));

    const status = (await look()) as SwarmStatus;

    expect(status.corrections).toMatchObject([{ action: { kind: "collect-then-judge" }, applied: false }]);
    expect(statusLines(status, { now, dependsOn: () => [] }).at(-1)).toMatch(/run `swarm resume`$/);
    expect((await store.read()).containers[0]?.status).toBe("running");
  });

  test("a creation that was cut off is cleared, or its container adopted and judged at once", async ({
    folder,
  }) => {
    const creating = { since: now.toISOString() };
    const { store, engine, look } = await place(folder, swarmWith({ creating }, { creating }));
    engine.put(worker(2).containerName, labelsOf(2), "running", idOf(2));

    const status = await look();

    expect(status?.corrections.map(({ action, applied }) => [action.kind, applied])).toEqual([
      ["clear-creating", true],
      ["adopt", true],
      ["set-status", true],
    ]);
    expect((await store.read()).containers).toMatchObject([
      { status: "pending", creating: null, containerId: null },
      { status: "running", creating: null, containerId: idOf(2) },
    ]);
  });

  test("without an answer of its engine it is not reconciled, and nothing is corrected", async ({
    folder,
  }) => {
    const silent = leftEngine({ answers: false });
    const { store, look } = await place(folder, swarmWith(running(1)), { findEngine: async () => silent });

    const status = (await look()) as SwarmStatus;

    expect(status).toMatchObject({ reconciled: false, corrections: [] });
    expect(statusLines(status, { now, dependsOn: () => [] }).at(-1)).toMatch(
      /^not reconciled with the engine: the engine at unix:\/\/\/fake\.sock does not answer/,
    );
    expect((await store.read()).containers[0]?.status).toBe("running");
  });

  test("another engine in its place is an error, unless nothing could be learnt from it any more", async ({
    folder,
  }) => {
    const another = leftEngine({ id: "another" });
    const findEngine = async () => another;
    const { store, look } = await place(folder, swarmWith(running(1)), { findEngine });

    await expect(look()).rejects.toMatchObject({ code: "ENGINE_CHANGED", exitCode: 3 });

    await store.update((state) => ({
      ...state,
      containers: state.containers.map((record) => ({ ...record, status: "completed" as const })),
    }));
    expect(await look()).toMatchObject({ reconciled: true, corrections: [] });
  });

  test("records of containers that were made on no engine that is known are shown and left alone", async ({
    folder,
  }) => {
    const state = { ...swarmWith(running(1)), engine: null };
    const { store, look } = await place(folder, state, { hold: refuse });

    const status = (await look()) as SwarmStatus;

    expect(status.corrections).toMatchObject([{ applied: false }]);
    expect(statusLines(status, { now, dependsOn: () => [] }).at(-1)).toMatch(/run `swarm state repair`$/);
    expect((await store.read()).containers[0]?.status).toBe("running");
  });

  test("names containers that no record knows", async ({ folder }) => {
    const { engine, look } = await place(folder, swarmWith(running(1)));
    engine.put(worker(1).containerName, labelsOf(1), "running", idOf(1));
    engine.put("aimi-012345-stray\u001b[31m", labelsOf(9), "exited", idOf(9));

    const status = (await look()) as SwarmStatus;

    expect(statusLines(status, { now, dependsOn: () => [] }).at(-1)).toBe(
      "aimi-012345-stray: this container of the worktree has no record in the state file",
    );
  });
});

describe("how much an engine has to say", () => {
  const done = { commit: "c".repeat(40), ref: "refs/aimi/x", at: now.toISOString() };
  const branch = { ref: "refs/heads/x", old: null, new: done.commit, done: true };
  test.for<[string, Partial<ContainerRecord>, string]>([
    ["nothing was ever made", {}, "optional"],
    ["it is being made", { creating: { since: now.toISOString() } }, "required"],
    ["it waits in a container", { containerId: id }, "required"],
    ["it runs", running(1), "required"],
    ["it was skipped", { status: "failed" }, "optional"],
    ["it failed", { status: "failed", containerId: id }, "required"],
    ["it stopped", { status: "stopped", containerId: id }, "required"],
    ["it is completed", { status: "completed", containerId: id, collected: done, branch }, "optional"],
    [
      "its branch was not moved",
      { status: "completed", containerId: id, branch: { ...branch, done: false } },
      "required",
    ],
  ])("where %s", ([_what, change, role]) => {
    expect(engineNeed(swarmWith(change))).toBe(role);
    expect(engineNeed({ ...swarmWith(change), engine: null })).toBe(role === "optional" ? "none" : role);
  });
});

describe("why a worker waits", () => {
  const later = "2026-01-02T04:00:00.000Z";
  const earlier = "2026-01-02T03:00:00.000Z";
  const paused = { reason: "the user paused the worker", since: earlier, until: null };
  test.for<[Partial<ContainerRecord>, boolean, string | null]>([
    [{}, true, "waits for 2"],
    [{ status: "running" }, true, null],
    [{ status: "completed" }, true, null],
    [{ status: "running", paused }, true, "paused: the user paused the worker"],
    [
      { status: "running", paused: { ...paused, until: later } },
      true,
      `paused until ${later}: the user paused the worker`,
    ],
    [{ status: "running", paused: { ...paused, until: earlier } }, true, null],
    [{ wish: "stop" }, true, "the command `stop` is pending"],
    [{ status: "failed", wish: "retry" }, true, "a retry was requested"],
  ])("%o", ([change, isOwned, why]) => {
    const state = swarmWith(change, {});

    expect(
      findWaitingReason(state.containers[0] as ContainerRecord, state, {
        ...{ dependsOn: ["2-tasks.json", "unknown-tasks.json"], isOwned, now },
      }),
    ).toBe(why);
  });

  test("for a free slot when what it depends on is completed; where nobody acts, for nobody", () => {
    const state = swarmWith({}, { status: "completed" });
    const [record] = state.containers as [ContainerRecord];
    const why = (isOwned: boolean) =>
      findWaitingReason(record, state, { dependsOn: ["2-tasks.json"], isOwned, now });

    expect([why(true), why(false)]).toEqual(["waits for a free worker slot", null]);
    expect(findWaitingReason(record, { ...state, wish: "stop" }, { dependsOn: [], isOwned: true, now })).toBe(
      "the command `stop` is pending",
    );
  });
});

describe("what is shown of a swarm", () => {
  const shown = (state: SwarmState, change: Partial<SwarmStatus> = {}): SwarmStatus => ({
    ...{ swarm: state, reconciled: true, corrections: [], orphans: [], owner: null, ...change },
  });

  test("a line for each worker: stories, time, tokens, cost and reason, clean of control characters", () => {
    const usage = {
      inputTokens: 1000,
      outputTokens: 20,
      cacheReadTokens: 200,
      cacheWriteTokens: 34,
      costUsd: 1.5,
    };
    const state = swarmWith(
      { ...running(1), usage, startedAt: "2026-01-02T03:00:05.000Z" },
      {
        ...{ status: "failed", branchName: "feat/\u202eevil\u001b]0;x\u0007" },
        ...{ startedAt: "2026-01-02T03:00:00.000Z", finishedAt: "2026-01-02T03:00:59.000Z" },
        reason: { code: "VERIFY_FAILED", message: "no\nway\u001b[2J" },
      },
    );

    expect(statusLines(shown(state), { now, dependsOn: () => [] }).slice(1)).toEqual([
      "no process is running this swarm",
      "STATUS   WORKER  BRANCH     STORIES  TIME       TOKENS                  REASON",
      "running  1       feat/1     0/0      4 min 0 s  1234 in, 20 out, $1.50",
      "failed   2       feat/evil  0/0      59 s       -                       VERIFY_FAILED: no way",
    ]);
  });

  test.for<[string, Partial<SwarmStatus>, Partial<ContainerRecord>[], string]>([
    ["nobody acts and work is left", {}, [running(1)], "resume"],
    ["somebody acts", { owner }, [running(1)], "wait"],
    ["no engine answers", { reconciled: false }, [running(1)], "doctor"],
    ["nothing was ever asked", {}, [], "start --all"],
    ["all is done", {}, [{ status: "completed" }], "summary"],
    [
      "all is done, and something is left over",
      { orphans: ["x"] },
      [{ status: "failed" }],
      "cleanup --dry-run",
    ],
  ])("what to type when %s", ([_what, change, records, command]) => {
    expect(suggestNextCommand(shown(swarmWith(...records), change))).toContain(`\`swarm ${command}\``);
  });

  test("the document is what its schema says, with and without a swarm", async ({ folder }) => {
    const { engine, look } = await place(folder, swarmWith(running(1), running(2), { containerId: idOf(3) }));
    engine.put(worker(2).containerName, labelsOf(2), "paused", idOf(2));
    engine.put("aimi-stray", labelsOf(9));

    const document = statusDocument(await look());

    expect(await findSchemaViolations("status", document)).toEqual([]);
    expect(await findSchemaViolations("swarm-state", document.swarm)).toEqual([]);
    expect(document).toMatchObject({ corrections: { length: 3 }, orphans: ["aimi-stray"] });
    expect(await findSchemaViolations("status", statusDocument(null))).toEqual([]);
  });

  test("a correction is shown until its record has moved on", async ({ folder }) => {
    const { engine, look } = await place(folder, swarmWith(running(1)), {
      owner: { holder: async () => owner },
    });
    engine.put(worker(1).containerName, labelsOf(1), "exited", idOf(1));
    const { corrections, swarm } = (await look()) as SwarmStatus;
    const moved = swarm.containers.map((record) => ({ ...record, status: "completed" as const }));

    expect(currentRecordCorrections(swarm, corrections)).toHaveLength(1);
    expect(currentRecordCorrections({ containers: moved }, corrections)).toEqual([]);
  });
});

describe("the owner, without a lock being loaded", () => {
  test("is known while it holds the lock; nobody where there is no file, or its process is gone", async ({
    folder,
  }) => {
    const file = join(folder, "owner.lock");
    expect(findKernelLockHolder(file)).toBeNull();
    {
      await using _held = await kernelLock(file, "swarm start").acquire(1_000);
      expect(findKernelLockHolder(file)).toMatchObject({ pid: process.pid, command: "swarm start" });
    }
    // Its process is there and holds no lock: only the lock itself can tell.
    expect(findKernelLockHolder(file)).toBeUndefined();

    const { pid } = spawnSync(process.execPath, ["--version"]);
    const host = hostname();
    write(folder, "owner.lock", JSON.stringify({ pid, host, since: "then", command: "swarm start" }));
    expect(findKernelLockHolder(file)).toBeNull();
    write(folder, "owner.lock", JSON.stringify({ pid, host: "elsewhere", since: "then", command: "x" }));
    expect(findKernelLockHolder(file)).toBeUndefined();
    write(folder, "owner.lock", "torn");
    expect(findKernelLockHolder(file)).toBeUndefined();
  });
});

describe("a question at a socket", () => {
  async function answered(folder: string, answer: string | null): Promise<unknown> {
    const path = join(folder, "e.sock");
    const asked: string[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes) => {
        asked.push(bytes.toString());
        if (answer !== null) socket.end(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const found = await httpGetFromSocket(path, "/containers/json", {
      timeoutMs: answer === null ? 20 : 5_000,
    });
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    expect(asked).toEqual(["GET /containers/json HTTP/1.0\r\nHost: engine\r\n\r\n"]);
    return found;
  }

  test.for<[string, string | null, unknown]>([
    ["plain", "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[1]", [1]],
    ["with its length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]", [1]],
    ["cut", "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n[1]", null],
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\n\r\n", null],
    ["an error", "HTTP/1.1 500 No\r\n\r\n[1]", null],
    ["no JSON", "HTTP/1.1 200 OK\r\n\r\n<html>", null],
    ["nonsense", "hello", null],
    ["empty", "", null],
    ["none in time", null, null],
  ])("an answer that is %s", async ([_what, answer, expected], { folder }) => {
    expect(await answered(folder, answer)).toEqual(expected);
  });

  test("where nobody listens there is none", async ({ folder }) => {
    expect(await httpGetFromSocket(join(folder, "none.sock"), "/", { timeoutMs: 1_000 })).toBeNull();
  });
});
