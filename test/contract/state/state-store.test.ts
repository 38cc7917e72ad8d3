import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { parseState } from "../../../src/state/parse-state.ts";
import {
  findPendingCommands,
  stateWithOwnerCommand,
  stateWithoutOwnerCommand,
} from "../../../src/state/rules/owner-commands.ts";
import { stateWithChangedRecord, stateWithNewRecord } from "../../../src/state/rules/swarm-state.ts";
import { stateSerializer } from "../../../src/state/serialize-state.ts";
import { stateFile } from "../../../src/state/state-file.ts";
import { watchState } from "../../../src/state/watch-state.ts";
import { count } from "../../counts.ts";
import { test } from "../../fakes/folders.ts";
import { ended, startProgram } from "../../fakes/machine/processes.ts";
import { now, swarmOf, worker } from "../../fakes/state/records.ts";
import { type LockKind, stateAt } from "../../fakes/state/state-at.ts";

for (const lockKind of ["kernel", "portable"] as LockKind[]) {
  describe(`the state with the ${lockKind} lock`, () => {
    test("is created once; a second time is an error and changes nothing", async ({ folder }) => {
      const { store, file } = stateAt(folder, { lockKind });
      expect(await store.find()).toBeNull();
      await expect(store.read()).rejects.toMatchObject({ code: "STATE_MISSING" });

      await store.create(swarmOf(1));
      const before = readFileSync(file.paths.stateFile, "utf8");

      await expect(store.create(swarmOf(2))).rejects.toMatchObject({ code: "STATE_EXISTS" });
      expect(readFileSync(file.paths.stateFile, "utf8")).toBe(before);
    });

    test("grows its revision by one with each write, and by none without a change", async ({ folder }) => {
      const { store } = stateAt(folder, { lockKind });
      await store.create(swarmOf(0));

      const first = await store.update((state) => stateWithNewRecord(state, worker(1), now));
      const same = await store.update((state) => state);

      expect([first.revision, same.revision, (await store.read()).revision]).toEqual([1, 1, 1]);
    });

    test("keeps every one of many updates made at once", async ({ folder }) => {
      const { store } = stateAt(folder, { lockKind });
      await store.create(swarmOf(0));

      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          store.update((state) => stateWithNewRecord(state, worker(index), now)),
        ),
      );

      const { containers, revision } = await store.read();
      expect(new Set(containers.map(({ containerName }) => containerName)).size).toBe(30);
      expect(revision).toBe(30);
    });

    test("checks inside the lock: of eight that add the same container, one succeeds", async ({ folder }) => {
      const { store } = stateAt(folder, { lockKind });
      await store.create(swarmOf(0));

      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => store.update((state) => stateWithNewRecord(state, worker(1), now))),
      );

      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect((await store.read()).containers).toHaveLength(1);
    });

    test("refuses a transition that the table does not know, and changes nothing", async ({ folder }) => {
      const { store } = stateAt(folder, { lockKind });
      await store.create(swarmOf(1));
      const name = worker(1).containerName;
      await store.update((state) => stateWithChangedRecord(state, name, { status: "failed" }, now));

      await expect(
        store.update((state) => stateWithChangedRecord(state, name, { status: "completed" }, now)),
      ).rejects.toMatchObject({
        code: "TRANSITION_REFUSED",
        hint: "The next status after failed can be: pending.",
      });
      expect((await store.read()).containers[0]?.status).toBe("failed");
    });

    test("after a change that fails, the next one succeeds", async ({ folder }) => {
      const { store } = stateAt(folder, { lockKind });
      await store.create(swarmOf(0));
      const update = store.update(() => {
        throw new Error("no");
      });
      await expect(update).rejects.toThrow("no");

      expect((await store.update((state) => stateWithNewRecord(state, worker(1), now))).revision).toBe(1);
    });
  });
}

describe("a state file that is not what it should be", () => {
  const broken: [name: string, content: string, problem: RegExp][] = [
    ["empty", "", /the file is empty/],
    ["cut", '{"version": 1, "revision": 3', /:1:\d+ is not a valid state file/],
    ["another version", JSON.stringify({ ...swarmOf(0), version: 2 }), /version must be 1/],
    ["a field nobody knows", JSON.stringify({ ...swarmOf(0), extra: true }), /"extra" is not a field/],
    [
      "a status nobody knows",
      JSON.stringify({ ...swarmOf(1), containers: [{ ...swarmOf(1).containers[0], status: "zombie" }] }),
      /status must be one of/,
    ],
    ["no JSON", "<<<<<<< HEAD\n", /invalid JSON/],
  ];
  for (const [name, content, problem] of broken) {
    test(`${name}: every command stops and says so, and the file stays as it is`, async ({ folder }) => {
      const { store, file } = stateAt(folder);
      mkdirSync(dirname(file.paths.stateFile), { recursive: true });
      writeFileSync(file.paths.stateFile, content);

      for (const attempt of [
        () => store.find(),
        () => store.read(),
        () => store.create(swarmOf(0)),
        () => store.update((state) => ({ ...state, wish: "stop" })),
      ]) {
        await expect(attempt()).rejects.toMatchObject({
          code: "STATE_INVALID",
          message: expect.stringMatching(problem),
        });
      }
      expect(readFileSync(file.paths.stateFile, "utf8")).toBe(content);
    });
  }

  test("is kept beside the new one when it is replaced", async ({ folder }) => {
    const { store, file } = stateAt(folder);
    mkdirSync(dirname(file.paths.stateFile), { recursive: true });
    writeFileSync(file.paths.stateFile, "broken");

    await store.replace(swarmOf(0));

    const [kept = ""] = readdirSync(file.paths.archiveFolder);
    expect(readFileSync(join(file.paths.archiveFolder, kept), "utf8")).toBe("broken");
    expect((await store.read()).containers).toEqual([]);
  });

  test("a valid one goes into the archive under its swarm's id", async ({ folder }) => {
    const { store, file } = stateAt(folder);
    await store.create(swarmOf(2));

    await store.replace({ ...swarmOf(0), swarmId: "11111111-2222-4333-8444-555555555555" });

    const folderOfSwarm = join(file.paths.archiveFolder, swarmOf(0).swarmId);
    const [archived = ""] = readdirSync(folderOfSwarm);
    expect(JSON.parse(readFileSync(join(folderOfSwarm, archived), "utf8")).containers).toHaveLength(2);
  });
});

describe("the copy in the git folder", () => {
  test("brings the state back after `git clean -fdx`, and puts the file back", async ({ folder }) => {
    const { store, file } = stateAt(folder);
    await store.create(swarmOf(3));
    rmSync(dirname(file.paths.stateFile), { recursive: true });

    expect((await stateAt(folder).store.read()).containers).toHaveLength(3);
    expect(statSync(file.paths.stateFile).isFile()).toBe(true);
  });

  test("is never taken while the file itself is there but broken", async ({ folder }) => {
    const { store, file } = stateAt(folder);
    await store.create(swarmOf(3));
    writeFileSync(file.paths.stateFile, "{");

    await expect(store.read()).rejects.toMatchObject({ code: "STATE_INVALID" });
  });
});

describe("a write that was refused", () => {
  test("does not come back after `git clean -fdx`", async ({ folder }) => {
    const { store, file } = stateAt(folder);
    await store.create(swarmOf(2));
    const refused = new Error("refused");
    let asked = 0;
    const giveUpBeforeTheFile = async (): Promise<void> => {
      asked += 1;
      // The copy comes first and is let through.
      if (asked === 2) throw Object.assign(refused, { code: "EIO" });
    };

    await expect(file.write({ ...swarmOf(0), revision: 9 }, giveUpBeforeTheFile)).rejects.toThrow();
    rmSync(dirname(file.paths.stateFile), { recursive: true });

    expect((await stateAt(folder).store.read()).containers).toHaveLength(2);
  });
});

describe("what this process wrote", () => {
  test("is not parsed again, even by who looks while it is written; what somebody else wrote is", async ({
    folder,
  }) => {
    let parsed = 0;
    const { paths } = stateAt(folder).file;
    const file = stateFile(paths, async (bytes, name) => {
      parsed += 1;
      return parseState(bytes, name);
    });
    await file.write(swarmOf(1));

    let looked: Promise<unknown> | undefined;
    const written = file.write(swarmOf(2), async () => {
      // What is there is not what was written last, as after our rename.
      utimesSync(paths.stateFile, new Date(1_000), new Date(1_000));
      looked ??= file.find();
    });
    await written;
    expect(await looked).toMatchObject({ containers: [{}, {}] });
    expect((await file.find())?.containers).toHaveLength(2);
    expect(parsed).toBe(0);

    writeFileSync(
      paths.stateFile,
      readFileSync(paths.stateFile, "utf8").replaceAll("aimi-sample-1", "aimi-sample-7"),
    );
    expect((await file.find())?.containers.map(({ containerName }) => containerName)).toContain(
      "aimi-sample-7",
    );
    expect(parsed).toBe(1);
  });

  test("is read again when another file has its inode, length and times", async ({ folder }) => {
    const { file } = stateAt(folder);
    const path = file.paths.stateFile;
    await file.write({ ...swarmOf(1), revision: 7 });
    const { atime, mtime } = statSync(path);
    utimesSync(path, atime, mtime);
    expect((await file.find())?.revision).toBe(7);

    writeFileSync(path, readFileSync(path, "utf8").replace('"revision": 7', '"revision": 8'));
    utimesSync(path, atime, mtime);

    expect((await file.find())?.revision).toBe(8);
  });
});

describe("a writer after a holder that was killed", () => {
  test("gets in with the usual waits of the portable lock", async ({ folder }) => {
    const { store } = stateAt(folder, { lockKind: "portable" });
    await store.create(swarmOf(0));
    const holder = startProgram("machine/hold-lock-process", "portable", join(folder, "git", "state.lock"));
    if (holder.stdout) await once(holder.stdout, "data");
    holder.kill("SIGKILL");
    await ended(holder);
    const killed = performance.now();

    await store.update((state) => stateWithNewRecord(state, worker(1), now));

    expect(performance.now() - killed).toBeLessThan(count.nextWriterMs);
  });
});

describe("the text of a state", () => {
  test("is the state in JSON with a line for each container, however often records are reused", () => {
    const serialize = stateSerializer();

    for (const state of [swarmOf(0), swarmOf(1), swarmOf(3), swarmOf(3)]) {
      const text = serialize(state);
      expect(JSON.parse(text)).toEqual(state);
      expect(text.split("\n").filter((line) => line.includes("containerName"))).toHaveLength(
        state.containers.length,
      );
    }
  });

  test("a field with line breaks in it stays whole", () => {
    const state = swarmOf(1);
    const [record] = state.containers;
    const changed = {
      ...state,
      containers: [{ ...record, reason: { code: "X", message: "a\nb\n  c" } }],
    } as typeof state;

    expect(JSON.parse(stateSerializer()(changed))).toEqual(changed);
  });
});

describe("wishes", () => {
  test("are seen by whoever watches the file, and cleared only if they are still the same", async ({
    folder,
  }) => {
    const { store, file } = stateAt(folder);
    await store.create(swarmOf(1));
    const name = worker(1).containerName;
    const seen = Promise.withResolvers<void>();
    const watching = new AbortController();
    const look = async (): Promise<void> => {
      if (findPendingCommands(await store.read()).length > 0) seen.resolve();
    };
    watchState(file.paths.stateFile, () => void look().catch(seen.reject), watching.signal);

    await store.update((state) =>
      stateWithOwnerCommand(stateWithOwnerCommand(state, { of: "swarm", wish: "pause" }), {
        of: "container",
        name,
        wish: "stop",
      }),
    );
    await seen.promise;
    watching.abort();

    const asked = findPendingCommands(await store.read());
    expect(asked).toEqual([
      { of: "swarm", wish: "pause" },
      { of: "container", name, wish: "stop" },
    ]);
    const changedMeanwhile = stateWithOwnerCommand(await store.read(), { of: "swarm", wish: "stop" });
    expect(findPendingCommands(asked.reduce(stateWithoutOwnerCommand, changedMeanwhile))).toEqual([
      { of: "swarm", wish: "stop" },
    ]);
  });
});
