import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, vi } from "vitest";
import { labels } from "../../../../src/engine/engine.ts";
import type { PrivateEngine, PrivateEngineStatus } from "../../../../src/engine/private-engine.ts";
import { SwarmError } from "../../../../src/errors/errors.ts";
import type { ListedImage } from "../../../../src/images/image-operations.ts";
import type { JournalSummary } from "../../../../src/protocol/host-journal.ts";
import type { ContainerRecord } from "../../../../src/state/rules/swarm-state.ts";
import {
  type CleanUpDeps,
  type CleanUpRequest,
  cleanUpContainersAndVolumes,
} from "../../../../src/swarm/cleanup/clean-up.ts";
import { clearMachine, type MachineAccess } from "../../../../src/swarm/cleanup/clear-machine.ts";
import { openSwarmFiles } from "../../../../src/swarm/cleanup/swarm-files.ts";
import { leftEngine } from "../../../fakes/engine/left-engine.ts";
import { test } from "../../../fakes/folders.ts";
import { write } from "../../../fakes/git/repository.ts";
import { now, swarmOf } from "../../../fakes/state/records.ts";
import { stateAt } from "../../../fakes/state/state-at.ts";

const { swarmId, project } = swarmOf(0);
const otherSwarm = "11111111-2222-4333-8444-555555555555";
const commit = "c".repeat(40);
const scope = { projectId: project.id, worktree: "." };
const name = `aimi-${project.id.slice(0, 6)}-${swarmId.slice(0, 6)}-login`;
const taskFile = ".aimi/tasks/2026-01-02-login-tasks.json";

function labelsOf(change: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    ...{ [labels.project]: project.id, [labels.worktree]: ".", [labels.swarm]: swarmId },
    ...{ [labels.taskFile]: taskFile, [labels.attempt]: "1", ...change },
  };
}

function journal(change: Partial<JournalSummary> = {}): JournalSummary {
  return {
    ...{ attempt: 1, lastSeq: 9, statusById: new Map(), completion: "completed", error: null },
    ...{ lastCheckpoint: commit, isWhole: true, failedWork: [], ...change },
  };
}

/** A swarm of one worker whose container and volumes are on the engine. */
async function place(folder: string, change: Partial<ContainerRecord>, engine = leftEngine()) {
  const { store } = stateAt(folder);
  const [first] = swarmOf(1).containers as [ContainerRecord];
  const record: ContainerRecord = {
    ...{ ...first, containerName: name, taskFilePath: taskFile, containerId: "a".repeat(64) },
    ...change,
  };
  const state = await store.create({ ...swarmOf(0), containers: [record] });
  engine.put(name, labelsOf());
  engine.volumesByName.set(`${name}.home`, labelsOf());
  const clean = async (
    deps: Partial<CleanUpDeps> = {},
    request: Partial<CleanUpRequest> = {},
    onStep: (step: string) => void = () => {},
  ) =>
    cleanUpContainersAndVolumes(
      {
        ...{ store, engine, clock: () => now, readAttempt: async () => journal() },
        work: { isReferenced: async () => true },
        files: { list: async () => [], remove: async () => {} },
        ...deps,
      },
      {
        ...{ state, scope, only: null, discard: false, withFiles: false, dryRun: false },
        ...request,
      },
      onStep,
      new AbortController().signal,
    );
  return { store, engine, clean };
}

const left = (engine: ReturnType<typeof leftEngine>): number =>
  engine.containers.length + engine.volumesByName.size;

describe("swarm cleanup", () => {
  test("removes everything of a worker whose work is here", async ({ folder }) => {
    const { engine, clean } = await place(folder, { status: "completed" });

    const { removed, kept, failure } = await clean();

    expect({ removed: removed.length, kept, failure }).toEqual({ removed: 3, kept: [], failure: null });
    expect(left(engine)).toBe(0);
  });

  test.for([
    ["no journal", null, true, /no journal/],
    ["a journal without its last word", journal({ isWhole: false }), true, /final message/],
    ["another end than the record's", journal({ completion: "failed" }), true, /does not confirm/],
    ["a commit that no ref has", journal(), false, /cccccccccc is not in this repository/],
  ] as const)(
    "keeps everything where there is %s, and says so",
    async ([, found, isKept, why], { folder }) => {
      const { engine, clean } = await place(folder, { status: "completed" });

      const { removed, kept } = await clean({
        readAttempt: async () => found,
        work: { isReferenced: async () => isKept },
      });

      expect(removed).toEqual([]);
      expect(kept.map((thing) => thing.why)).toEqual([0, 1, 2].map(() => expect.stringMatching(why)));
      expect(left(engine)).toBe(3);
      expect(engine.calls.filter((call) => call.startsWith("remove"))).toEqual([]);
    },
  );

  test("removes the networks of containers that are gone, and no other", async ({ folder }) => {
    const { engine, clean } = await place(folder, { status: "running" });
    const { networks } = await engine.open();
    const marks: Record<string, string> = { ...labelsOf(), [labels.sandbox]: "true" };
    const create = (of: string, marked = marks): Promise<string> =>
      networks.create({ name: of, labels: marked, internal: true, subnet: null });
    const [needed, idle, foreign] = [`${name}.net`, `${name}-2.net`, `${name}-3.net`];
    await create(needed);
    await create(idle);
    await create(foreign, { ...marks, [labels.project]: "f".repeat(32) });

    const { failure } = await clean();

    expect(failure).toBeNull();
    expect((await networks.names()).toSorted()).toEqual([foreign, needed].toSorted());
  });

  test("the work of a story that failed counts, too", async ({ folder }) => {
    const { clean } = await place(folder, { status: "failed" });
    const unkept = "d".repeat(40);
    const found = journal({ completion: "failed", failedWork: [unkept] });

    const { kept } = await clean({
      readAttempt: async () => found,
      work: { isReferenced: async (asked) => asked !== unkept },
    });

    expect(kept[0]?.why).toContain("dddddddddd");
  });

  test("with --discard a record is given up before its container is, so that a kill in between loses no truth", async ({
    folder,
  }) => {
    const refusing = leftEngine({
      beforeRemoval: () => {
        throw new Error("killed");
      },
    });
    const { store, engine, clean } = await place(folder, { status: "running" }, refusing);

    await expect(clean({ readAttempt: async () => null }, { discard: true })).rejects.toThrow("killed");

    expect((await store.read()).containers[0]).toMatchObject({ status: "failed", containerId: null });
    expect(left(engine)).toBe(3);
  });

  test("a second run finishes what the first one began", async ({ folder }) => {
    let removals = 0;
    const engine = leftEngine({
      beforeRemoval: () => {
        removals += 1;
        if (removals === 2) throw new Error("killed");
      },
    });
    const { clean } = await place(folder, { status: "completed" }, engine);
    await expect(clean()).rejects.toThrow("killed");
    expect(left(engine)).toBe(2);

    const { removed } = await clean();

    expect(removed).toHaveLength(2);
    expect(left(engine)).toBe(0);
  });

  test("waits for a removal that takes long, and says so", async ({ folder }) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const begun = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const engine = leftEngine({
      beforeRemoval: () => {
        begun.resolve();
        return gone.promise;
      },
    });
    const steps: string[] = [];
    const { clean } = await place(folder, { status: "completed" }, engine);

    const cleaning = clean({}, {}, (step) => void steps.push(step));
    await begun.promise;
    vi.advanceTimersByTime(60_000);
    gone.resolve();

    expect((await cleaning).removed).toHaveLength(3);
    expect(steps).toContain(`Removing the container ${name}: the engine has not finished the removal yet`);
  });

  test("what the engine refuses to remove is kept and named, and the rest goes", async ({ folder }) => {
    const engine = leftEngine({
      beforeRemoval: (asked) => {
        if (asked.endsWith(".home"))
          throw new SwarmError("ENGINE_FAILED", { operation: "remove it", reason: "it is in use" });
      },
    });
    const { clean } = await place(folder, { status: "completed" }, engine);

    const { removed, kept, failure } = await clean();

    expect(removed).toHaveLength(2);
    expect(kept).toMatchObject([{ name: `${name}.home`, why: expect.stringContaining("in use") }]);
    expect(failure?.exitCode).toBe(3);
  });

  test("a dry run says the same and changes nothing", async ({ folder }) => {
    const { store, engine, clean } = await place(folder, { status: "stopped" });
    const before = await store.read();

    const { removed } = await clean({}, { dryRun: true, discard: true });

    expect(removed).toHaveLength(3);
    expect(left(engine)).toBe(3);
    expect(await store.read()).toEqual(before);
  });

  test("another engine than the swarm's is not touched", async ({ folder }) => {
    const { engine, clean } = await place(folder, { status: "completed" });
    const state = {
      ...swarmOf(0),
      engine: { name: "docker", endpoint: "unix:///mine.sock", id: "mine", isolation: null },
    };

    await expect(clean({}, { state })).rejects.toMatchObject({ code: "ENGINE_CHANGED" });
    expect(left(engine)).toBe(3);
  });

  test("--all removes the files of other swarms, unless something of theirs is kept", async ({
    repository,
    folder,
  }) => {
    const gitFolder = join(repository, ".git");
    const keptSwarm = "22222222-2222-4333-8444-555555555555";
    for (const id of [swarmId, otherSwarm, keptSwarm]) {
      write(repository, `.aimi/swarms/${id}/login/journal-1.ndjson`, "");
      write(repository, `.git/aimi/requests/${id}/login-1.json`, "{}");
    }
    write(repository, ".aimi/swarms/unreadable-1.json", "{");
    const { engine, clean } = await place(folder, { status: "completed" });
    engine.put("aimi-012345-222222-login", labelsOf({ [labels.swarm]: keptSwarm }));
    const files = openSwarmFiles({ root: repository, gitFolder });
    const readAttempt: CleanUpDeps["readAttempt"] = async (attempt) =>
      attempt.swarmId === keptSwarm ? null : journal();

    const { removed } = await clean({ files, readAttempt }, { withFiles: true });

    expect(removed.filter(({ kind }) => kind === "files")).toMatchObject([{ swarmId: otherSwarm }]);
    expect(readdirSync(join(repository, ".aimi/swarms")).sort()).toEqual(
      [keptSwarm, swarmId, "unreadable-1.json"].sort(),
    );
    expect(readdirSync(join(gitFolder, "aimi/requests")).sort()).toEqual([keptSwarm, swarmId].sort());
  });

  test("links in the place of swarms' folders are not followed", async ({ repository, folder }) => {
    const outside = join(folder, "outside", otherSwarm);
    write(outside, "precious.txt", "x");
    mkdirSync(join(repository, ".aimi"), { recursive: true });
    symlinkSync(join(folder, "outside"), join(repository, ".aimi/swarms"));
    const files = openSwarmFiles({ root: repository, gitFolder: join(repository, ".git") });

    expect(await files.list()).toEqual([]);
    await files.remove(otherSwarm);
    expect(existsSync(join(outside, "precious.txt"))).toBe(true);
    await expect(files.remove("..")).rejects.toThrow("not the id of a swarm");
  });
});

describe("what is for all projects of a user", () => {
  function machine(folder: string, change: Partial<PrivateEngineStatus> = {}, content = 0) {
    const calls: string[] = [];
    let status: PrivateEngineStatus = {
      ...{ state: "running", endpoint: "unix:///own.sock", folder: join(folder, "engine"), log: "" },
      ...{ pid: 7, runtimes: [], reason: null, ...change },
    };
    const privateEngine: PrivateEngine = {
      status: async () => status,
      missingPackages: async () => [],
      start: async () => {
        calls.push("start");
        status = { ...status, state: "running" };
        return status;
      },
      stop: async () => {
        calls.push("stop");
        status = { ...status, state: "stopped" };
        return status;
      },
    };
    const image: ListedImage = {
      id: "sha256:1",
      role: "project",
      project: project.id,
      tags: ["aimi-sandbox-sample:1"],
      createdAt: now,
      sizeBytes: 1,
      commit,
    };
    const access: MachineAccess = {
      engines: {
        private: async () => privateEngine,
        countContent: async () => ({ containers: content, volumes: 0 }),
      },
      host: { folders: { config: folder, home: folder, state: folder } },
      images: async () => ({ prune: async () => [image] }),
    };
    const clear = (words: { dryRun?: boolean; going?: number } = {}) =>
      clearMachine(
        access,
        {
          dryRun: words.dryRun ?? false,
          removedBefore: { endpoint: "unix:///own.sock", containers: words.going ?? 0, volumes: 0 },
        },
        () => {},
        new AbortController().signal,
      );
    return { calls, clear };
  }

  function fill(folder: string): void {
    for (const file of ["engine/data/x", "downloads/y", "probes.json", "trust.json", "image.lock"])
      write(folder, file, "x");
    write(folder, "machine-id", "x");
    write(folder, "somebody-elses.txt", "x");
  }

  test("images go, then the private engine, then the state folder, but for what is not ours", async ({
    folder,
  }) => {
    fill(folder);
    const { calls, clear } = machine(folder);

    const { removed, kept } = await clear();

    expect(removed.map(({ kind }) => kind)).toEqual(["image", "engine", "state-folder"]);
    expect(kept).toEqual([]);
    expect(calls).toEqual(["stop"]);
    expect(readdirSync(folder).sort()).toEqual(["machine-id", "somebody-elses.txt"]);
  });

  test("an engine with anything left on it stays, and the folder with its data, too", async ({ folder }) => {
    fill(folder);
    const { calls, clear } = machine(folder, {}, 2);

    const { removed, kept } = await clear();

    expect(removed.map(({ kind }) => kind)).toEqual(["image"]);
    expect(kept.map(({ kind, why }) => [kind, why])).toEqual([
      ["engine", "the private engine still has 2 containers and 0 volumes"],
      ["state-folder", "the folder contains the data of the private engine"],
    ]);
    expect(calls).toEqual([]);
    expect(existsSync(join(folder, "engine/data/x"))).toBe(true);
  });

  test("a dry run counts what would be gone by then, and changes nothing", async ({ folder }) => {
    fill(folder);
    const { calls, clear } = machine(folder, {}, 2);

    expect((await clear({ dryRun: true, going: 2 })).removed.map(({ kind }) => kind)).toEqual([
      "image",
      "engine",
      "state-folder",
    ]);
    expect(calls).toEqual([]);
    expect(existsSync(join(folder, "engine/data/x"))).toBe(true);
  });

  test("a stopped one is looked into first; where that cannot be, nobody knows what is on it", async ({
    folder,
  }) => {
    fill(folder);

    const stopped = machine(folder, { state: "stopped" }, 1);
    expect((await stopped.clear()).kept[0]?.why).toContain("1 container");
    expect(stopped.calls).toEqual(["start"]);

    expect((await machine(folder, { state: "unsupported" }).clear()).kept[0]?.why).toContain("unknown");
    expect(existsSync(join(folder, "engine/data/x"))).toBe(true);
  });

  test("a second run finishes a removal that was cut off", async ({ folder }) => {
    write(folder, "removing-0123456789ab/data/x", "x");
    const { calls, clear } = machine(folder, { state: "stopped" });

    expect((await clear()).removed.map(({ kind }) => kind)).toEqual(["image", "state-folder"]);
    expect(calls).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});
