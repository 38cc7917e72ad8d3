import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { openSandboxFolders } from "../../../src/sandbox/sandbox-folders.ts";
import { createRecordSeal, parseSandboxRecord } from "../../../src/sandbox/sandbox-records.ts";
import { type Finished, swarm } from "../../fakes/cli/swarm-command.ts";
import {
  listenOutside,
  type RedirectingEngine,
  redirectingEngine,
} from "../../fakes/engine/redirecting-engine.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

const id = "Evil0001";

function recordOf(engine: string, container: string): SandboxRecord {
  return {
    ...{ version: 1, id, sandbox: "evil", status: "running", task: null, createdAt: "2026-01-01T00:00:00Z" },
    ...{ startedAt: "2026-01-01T00:00:00Z", completedAt: null, duration: null, exitCode: null, reason: null },
    ...{
      ttl: "30m",
      ttlMs: 1_800_000,
      image: "i",
      runtime: "bash",
      network: "none",
      engine,
      execution: null,
    },
    ...{ isolation: { level: "shared-kernel", runtime: "runc" }, container: { id: container, image: "i" } },
    ...{ missingOutputs: [], expectedOutputs: [] },
    limits: { cpus: 1, memoryBytes: 1, diskBytes: 1, pids: 1, files: 1 },
  };
}

function foldersOf(folder: string, stateFolder: string): ReturnType<typeof openSandboxFolders> {
  return openSandboxFolders({
    ...{ root: folder, folder, clock: () => new Date(0) },
    ...{ lockAt: (lock) => kernelLock(lock, "test"), seal: createRecordSeal(stateFolder) },
  });
}

/** As a repository brings it along. */
function plant(folder: string, record: SandboxRecord, name = record.id): void {
  mkdirSync(join(folder, ".aimi/sandboxes", name, "outputs"), { recursive: true });
  write(folder, join(".aimi/sandboxes", name, "run.json"), JSON.stringify(record));
}

const hex = "ab".repeat(32);
const commands: readonly (readonly string[])[] = [
  ["ls"],
  ["ls", "--all", "--json"],
  ["exec", "--sandbox", id, "--", "true"],
  ["exec", "--", "true"],
  ["run", "task.sh"],
  ["cp", ":/work/x", "x"],
  ["stats", id],
  ["logs", id],
  ["destroy", id],
  ["destroy", "--all", "--purge"],
];

function sandbox(
  folder: string,
  { endpoint }: RedirectingEngine,
  words: readonly string[],
): Promise<Finished> {
  const env = { HOME: folder, SWARM_STATE_DIR: join(folder, "state"), DOCKER_HOST: endpoint };
  return swarm({ folder, env }, "sandbox", ...words);
}

/** What the engine was asked about anything but itself. */
const askedAboutIt = ({ asked }: RedirectingEngine): string[] =>
  asked.filter((line) => !/ \/(?:_ping|info)$/.test(line));

describe("a record that came with a repository", () => {
  test.for(commands)("leads `swarm sandbox %s …` to no request", async (words, { folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    write(folder, "task.sh", "true\n");
    for (const container of [hex, `../127.0.0.1:${outside.port}/x`]) {
      plant(folder, recordOf(engine.endpoint, container));
      const { stderr, exit } = await sandbox(folder, engine, words);
      expect(stderr).not.toMatch(/Unhandled|^\s+at /m);
      expect(exit).toBeLessThan(126);
      expect(askedAboutIt(engine)).toEqual([]);
      expect(await outside.connections()).toBe(0);
    }
  });

  test("is told by its name and with what to do", async ({ folder }) => {
    await using engine = await redirectingEngine(folder);
    plant(folder, recordOf(engine.endpoint, hex));
    expect((await sandbox(folder, engine, ["ls"])).stderr).toContain(
      `did not write the record of sandbox ${id}`,
    );
    expect((await sandbox(folder, engine, ["destroy", id])).stderr).toMatch(
      /error SANDBOX_FOREIGN: .*Evil0001.*\nhint: .*Evil0001/,
    );
  });

  test("control: one that this user's swarm wrote leads to a request", async ({ folder }) => {
    await using engine = await redirectingEngine(folder);
    const record = recordOf(engine.endpoint, hex);
    plant(folder, record);
    await foldersOf(folder, join(folder, "state")).write(record);
    await sandbox(folder, engine, ["ls"]);
    expect(askedAboutIt(engine)).toContain(`GET /containers/${hex}/json`);
  });
});

describe("a record", () => {
  const record = recordOf("unix:///e", hex);

  test("that was written is read as it is, also where its project was moved to", async ({ folder }) => {
    const [before, after] = [join(folder, "before"), join(folder, "after")];
    plant(before, record);
    await foldersOf(before, folder).write(record);
    renameSync(before, after);

    expect(await foldersOf(after, folder).read(id)).toEqual(record);
    expect(await foldersOf(after, folder).list()).toEqual({ records: [record], unreadable: [] });
  });

  test.for<[string, (seal: object) => object]>([
    ["has no seal", () => record],
    ["was changed since", (written) => ({ ...written, engine: "unix:///another" })],
    ["has the seal of another", (written) => ({ ...written, seal: "0".repeat(64) })],
    ["has a seal that is none", (written) => ({ ...written, seal: 5 })],
  ])("that %s is refused", async ([, change], { folder }) => {
    const folders = foldersOf(folder, folder);
    plant(folder, record);
    await folders.write(record);
    const file = folders.pathFor(id, "run.json");
    writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, "utf8")))));

    await expect(folders.read(id)).rejects.toMatchObject({
      code: expect.stringMatching(/FOREIGN|UNREADABLE/),
    });
    expect(await folders.list()).toMatchObject({ records: [], unreadable: [expect.stringContaining(id)] });
  });

  test("that another user's swarm wrote, or that lies in another's place, is refused", async ({ folder }) => {
    plant(folder, record);
    await foldersOf(folder, join(folder, "theirs")).write(record);
    await expect(foldersOf(folder, join(folder, "ours")).read(id)).rejects.toMatchObject({
      code: "SANDBOX_FOREIGN",
    });

    await foldersOf(folder, join(folder, "ours")).write(record);
    plant(folder, record, "Evil0002");
    const place = (name: string): string => join(folder, ".aimi/sandboxes", name, "run.json");
    copyFileSync(place(id), place("Evil0002"));
    await expect(foldersOf(folder, join(folder, "ours")).read("Evil0002")).rejects.toMatchObject({
      code: "SANDBOX_FOREIGN",
    });
  });

  test.for(["../127.0.0.1:1/x", "", "..", "x/y", "x?y", "x y", "-x"])(
    "of the container %j is refused by its form",
    async (container) => {
      const bytes = Buffer.from(JSON.stringify(recordOf("unix:///e", container)));
      await expect(parseSandboxRecord(bytes, "run.json")).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
    },
  );
});
