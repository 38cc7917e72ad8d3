import { describe, expect, test } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import {
  findSandboxEnd,
  hasSandboxEndedForGood,
  type ObservedSandbox,
} from "../../../src/sandbox/rules/sandbox-end.ts";

const now = new Date("2026-01-02T03:04:05.000Z");
const finishedAt = "2026-01-02T03:00:00.000Z";

function recordOf(changes: Partial<SandboxRecord>): SandboxRecord {
  return {
    ...{ version: 1, id: "abcdefgh", sandbox: "abcdefgh", status: "running", task: null },
    ...{
      createdAt: finishedAt,
      startedAt: null,
      completedAt: null,
      duration: null,
      exitCode: null,
      reason: null,
    },
    ...{ ttl: "10m", ttlMs: 600_000, image: "x", runtime: "bash", network: "none", engine: "unix:///x" },
    isolation: { level: "shared-kernel", runtime: "runc" },
    container: { id: "c", image: "i" },
    ...{ execution: null, missingOutputs: [], expectedOutputs: [] },
    limits: { cpus: 1, memoryBytes: 1, diskBytes: 1, pids: 1, files: 1 },
    ...changes,
  };
}

const ended = (changes: object = {}): ObservedSandbox => ({
  kind: "ended",
  ...{ exitCode: 0, livedMs: 600_000, finishedAt, memoryExhausted: false, ...changes },
});

type Row = [what: string, record: Partial<SandboxRecord>, observed: ObservedSandbox, expected: string | null];

describe("what a sandbox's record must say of its container", () => {
  test.each<Row>([
    ["not started yet", { status: "created" }, { kind: "created" }, null],
    ["alive", {}, { kind: "alive" }, null],
    ["ended at its time", {}, ended(), "timeout SANDBOX_EXPIRED"],
    [
      "ended a moment before it, by another clock",
      {},
      ended({ livedMs: 599_500 }),
      "timeout SANDBOX_EXPIRED",
    ],
    ["ended at its time after a task", { status: "completed" }, ended(), "timeout SANDBOX_EXPIRED"],
    ["ended before its time", {}, ended({ livedMs: 5_000 }), "failed CONTAINER_ENDED"],
    ["killed at its time", {}, ended({ exitCode: 137 }), "failed CONTAINER_ENDED"],
    ["ended with no time to live", { ttlMs: null, ttl: "none" }, ended(), "failed CONTAINER_ENDED"],
    ["out of memory as a whole", {}, ended({ exitCode: 137, memoryExhausted: true }), "failed CONTAINER_OOM"],
    [
      "whose kernel ended under gVisor",
      { isolation: { level: "strong", runtime: "runsc" } },
      ended({ exitCode: 2 }),
      "failed PROCESSES_EXHAUSTED",
    ],
    ["ended with the same code elsewhere", {}, ended({ exitCode: 2 }), "failed CONTAINER_ENDED"],
    ["removed", {}, { kind: "missing" }, "failed CONTAINER_LOST"],
    ["removed after a task", { status: "completed" }, { kind: "missing" }, "failed CONTAINER_LOST"],
    ["already timed out", { status: "timeout" }, { kind: "missing" }, null],
    ["already destroyed", { status: "destroyed" }, { kind: "missing" }, null],
  ])("%s", (_what, record, observed, expected) => {
    const end = findSandboxEnd(recordOf(record), observed, { now, isDestroyed: false });

    expect(end && `${end.status} ${end.reason.code}`).toBe(expected);
    if (end) expect(end.completedAt).toBe(observed.kind === "ended" ? finishedAt : now.toISOString());
  });

  test.each([137, 143])("exit code %i after the user's own destroy is told as that", (exitCode) => {
    const messageOf = (isDestroyed: boolean) =>
      findSandboxEnd(recordOf({}), ended({ exitCode }), { now, isDestroyed })?.reason;

    expect(messageOf(true)).toEqual({
      ...{ code: "CONTAINER_ENDED", message: "`swarm sandbox destroy` ended the sandbox" },
    });
    expect(messageOf(false)?.message).toBe(
      `the sandbox's container was ended from outside (exit code ${exitCode})`,
    );
  });

  test("a task that failed leaves a sandbox that can be used; one that broke its limits does not", () => {
    expect(hasSandboxEndedForGood(recordOf({ status: "failed", reason: null }))).toBe(false);
    expect(
      hasSandboxEndedForGood(
        recordOf({ status: "failed", reason: { code: "MEMORY_EXHAUSTED", message: "" } }),
      ),
    ).toBe(false);
    for (const code of ["DISK_FULL", "FILES_EXHAUSTED", "PROCESSES_EXHAUSTED", "CREATION_INTERRUPTED"])
      expect(
        hasSandboxEndedForGood(recordOf({ status: "failed", reason: { code, message: "" } })),
        code,
      ).toBe(true);
  });
});
