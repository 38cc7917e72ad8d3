import { mkdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { type EntryToPack, packFiles } from "../../../../src/archive/pack-files.ts";
import type { SandboxRecord } from "../../../../src/contract/sandbox-run.ts";
import type { Containers } from "../../../../src/engine/containers.ts";
import type { ConnectedEngine } from "../../../../src/engine/engine.ts";
import { kernelLock } from "../../../../src/machine/locks/kernel-lock.ts";
import { openSandboxFolders } from "../../../../src/sandbox/sandbox-folders.ts";
import { createRecordSeal } from "../../../../src/sandbox/sandbox-records.ts";
import {
  type CollectedSandboxFiles,
  collectSandboxFiles,
} from "../../../../src/sandbox/task/collect-files.ts";
import { findOutputsProblem, summarizeTask } from "../../../../src/sandbox/task/summarize-task.ts";
import { findSchemaViolations } from "../../../../src/schema/find-violations.ts";
import { test } from "../../../fakes/folders.ts";
import { write } from "../../../fakes/git/repository.ts";

const id = "abcdEFGH";

const record: SandboxRecord = {
  ...{ version: 1, id, sandbox: "s", status: "running", task: "t.sh", createdAt: "2026-01-01T00:00:00Z" },
  ...{ startedAt: null, completedAt: null, duration: null, exitCode: 0, reason: null, ttl: "30m" },
  ...{ ttlMs: 1_800_000, image: "i", runtime: "bash", network: "none", engine: "unix:///e", execution: null },
  ...{ isolation: { level: "shared-kernel", runtime: "runc" }, container: { id: "c", image: "i" } },
  ...{ missingOutputs: [], expectedOutputs: ["made", "report.txt", "summary.json", "never.txt"] },
  limits: { cpus: 1, memoryBytes: 1, diskBytes: 1, pids: 1, files: 1 },
};

const owner = { mode: 0o644, uid: 0, gid: 0 };
const file = (path: string, content = ""): EntryToPack => ({
  ...owner,
  ...{ kind: "file", path, content: Buffer.from(content) },
});

function foldersOf(root: string): ReturnType<typeof openSandboxFolders> {
  mkdirSync(join(root, ".aimi/sandboxes", id, "outputs"), { recursive: true });
  return openSandboxFolders({
    ...{ root, folder: root, clock: () => new Date(0) },
    lockAt: (lock) => kernelLock(lock, "test"),
    seal: createRecordSeal(root),
  });
}

/** From a container that has ended, and has these files in `/outputs` and an empty `/work`. */
async function collect(root: string, outputs: () => Iterable<EntryToPack>): Promise<CollectedSandboxFiles> {
  const containers: Pick<Containers, "inspect" | "copyOut"> = {
    inspect: async () => ({
      ...{ id: "c", name: "c", imageId: "i", labels: {}, state: "exited", exitCode: 0, diskBytes: null },
      ...{ memoryExhausted: false, startedAt: null, finishedAt: null },
    }),
    copyOut: (_id, path) =>
      packFiles(path === "/work" ? [{ ...owner, kind: "folder", path: "work" }] : outputs()),
  };
  const open = { containers } as unknown as ConnectedEngine;
  return collectSandboxFiles({ folders: foldersOf(root) }, open, { record, containerId: "c" });
}

describe("what is brought out of a sandbox", () => {
  test("takes the place of what was there, beside our own files; what was expected and is missing is told", async ({
    folder,
  }) => {
    foldersOf(folder);
    write(folder, `.aimi/sandboxes/${id}/outputs/old.txt`, "old");
    write(folder, `.aimi/sandboxes/${id}/outputs/stdout.log`, "ours");

    const collected = await collect(folder, () => [
      file("outputs/made/deep/a.txt"),
      file("outputs/summary.json", "mine"),
      file("outputs/report.txt"),
    ]);

    expect(collected).toMatchObject({
      outputFiles: ["made/deep/a.txt", "report.txt", "task-summary.json"],
      ...{ missingOutputs: ["never.txt"], leftOut: [], missed: [], stillInside: [], outputsMissed: null },
    });
  });

  test("is told in a summary that stays small, and again in one that is no larger", async ({ folder }) => {
    const deep = `${"y".repeat(250)}/`.repeat(12);
    function* many(): Generator<EntryToPack> {
      for (let number = 0; number < 500; number += 1) {
        yield file(`outputs/line\n${number}${"x".repeat(900)}`);
        yield file(`outputs/${deep}${number}`);
      }
    }
    const folders = foldersOf(folder);
    const sizes: number[] = [];

    for (const _attempt of ["the first", "a settlement after it failed"]) {
      const collected = await collect(folder, many);
      const summary = await summarizeTask(folders, record, collected);
      await folders.writeSummary(summary);
      expect(await findSchemaViolations("sandbox-summary", summary)).toEqual([]);
      expect(summary.leftOut.length + summary.more.leftOut).toBe(500);
      expect(summary.outputFiles.length + summary.more.outputFiles).toBe(500);
      sizes.push(readFileSync(join(folder, ".aimi/sandboxes", id, "outputs/summary.json")).length);
    }

    expect(Math.max(...sizes)).toBeLessThan(1_500_000);
    expect(sizes[1]).toBe(sizes[0]);
  }, 60_000);

  test("of a record that is too large nothing is read", async ({ folder }) => {
    const folders = foldersOf(folder);
    await folders.write(record);
    const run = folders.pathFor(id, "run.json");
    expect((await folders.list()).records).toHaveLength(1);

    truncateSync(run, 2 ** 33);

    expect(await folders.list()).toMatchObject({
      ...{
        records: [],
        unreadable: [expect.stringContaining("8589934592 bytes, but swarm accepts at most")],
      },
    });
  });
});

describe("a task whose outputs did not all come out", () => {
  const outputsMissed = { first: "outputs/a: Permission denied", count: 3 };

  test.for<[exitCode: number | null, missed: typeof outputsMissed | null, code: string | null]>([
    [0, outputsMissed, "OUTPUTS_INCOMPLETE"],
    [0, null, null],
    [3, outputsMissed, null],
    [null, outputsMissed, null],
  ])("that ended with %s", ([exitCode, missed, code]) => {
    expect(findOutputsProblem(exitCode, { outputsMissed: missed })?.code ?? null).toBe(code);
  });
});
