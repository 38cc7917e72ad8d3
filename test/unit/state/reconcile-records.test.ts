import { describe, expect, test } from "vitest";
import type { ObservedContainer } from "../../../src/engine/rules/observed-container.ts";
import { applyRecordCorrections } from "../../../src/state/rules/apply-correction.ts";
import {
  judgeEndedAttempt,
  type RecordCorrectionAction,
  reconcileRecords,
} from "../../../src/state/rules/reconcile-records.ts";
import type { ContainerRecord } from "../../../src/state/rules/swarm-state.ts";
import { now, recordWith, swarmOf } from "../../fakes/state/records.ts";

const id = "a".repeat(64);
const checkpoint = "c".repeat(40);
const collected = { commit: checkpoint, ref: "refs/aimi/x", at: now.toISOString() };
const plainEnd = { exitCode: 0, oomKilled: false, runtime: "runc", processes: null };
const creating = { since: now.toISOString() };

type Verdict =
  | "none"
  | "running"
  | "stopped INTERRUPTED"
  | "failed CONTAINER_LOST"
  | Exclude<RecordCorrectionAction["kind"], "set-status">;

const engineSays: Readonly<Record<string, ObservedContainer>> = {
  "nothing, volume gone": { kind: "missing", volume: false },
  "nothing, volume there": { kind: "missing", volume: true },
  created: { kind: "created", containerId: id, labelsAgree: true },
  running: { kind: "running", containerId: id, labelsAgree: true },
  restarting: { kind: "restarting", containerId: id, labelsAgree: true },
  paused: { kind: "paused", containerId: id, labelsAgree: true },
  exited: { kind: "exited", containerId: id, labelsAgree: true },
  removing: { kind: "removing", containerId: id, labelsAgree: true },
  dead: { kind: "dead", containerId: id, labelsAgree: true },
  foreign: { kind: "running", containerId: id, labelsAgree: false },
};

const rows: Readonly<Record<string, Partial<ContainerRecord>>> = {
  queued: { status: "pending", containerId: null },
  "being created": { status: "pending", containerId: null, creating },
  pending: { status: "pending", containerId: id },
  running: { status: "running", containerId: id, collected },
  "running, paused by us": {
    status: "running",
    containerId: id,
    collected,
    paused: { reason: "limit", since: now.toISOString(), until: null },
  },
  stopped: { status: "stopped", containerId: id, collected },
  "stopped, uncollected": { status: "stopped", containerId: id },
  completed: { status: "completed", containerId: id, collected },
  "completed, unpublished": {
    status: "completed",
    containerId: id,
    collected,
    branch: { ref: "refs/heads/x", old: null, new: checkpoint, done: false },
  },
  "completed, uncollected": { status: "completed", containerId: id },
  failed: { status: "failed", containerId: id, collected },
};

/** One line for each record, one verdict for each thing that the engine may say, without a living owner. */
const table: Readonly<Record<keyof typeof rows, readonly Verdict[]>> = {
  // engine says:           nothing, no volume        nothing, volume       created                running    restarting  paused    exited                removing               dead                   foreign
  queued: ["none", "none", "adopt", "adopt", "adopt", "adopt", "adopt", "adopt", "adopt", "report"],
  "being created": [
    "clear-creating",
    "clear-creating",
    "adopt",
    "adopt",
    "adopt",
    "adopt",
    "adopt",
    "adopt",
    "adopt",
    "report",
  ],
  pending: [
    "failed CONTAINER_LOST",
    "collect-then-judge",
    "none",
    "running",
    "running",
    "report",
    "collect-then-judge",
    "stopped INTERRUPTED",
    "stopped INTERRUPTED",
    "report",
  ],
  running: [
    "failed CONTAINER_LOST",
    "collect-then-judge",
    "stopped INTERRUPTED",
    "none",
    "none",
    "report",
    "collect-then-judge",
    "stopped INTERRUPTED",
    "stopped INTERRUPTED",
    "report",
  ],
  "running, paused by us": [
    "failed CONTAINER_LOST",
    "collect-then-judge",
    "stopped INTERRUPTED",
    "none",
    "none",
    "none",
    "collect-then-judge",
    "stopped INTERRUPTED",
    "stopped INTERRUPTED",
    "report",
  ],
  stopped: ["none", "none", "none", "running", "running", "report", "none", "none", "none", "report"],
  "stopped, uncollected": [
    "collect",
    "collect",
    "collect",
    "running",
    "running",
    "report",
    "collect",
    "collect",
    "collect",
    "report",
  ],
  completed: ["none", "none", "none", "report", "report", "report", "none", "none", "none", "report"],
  "completed, unpublished": [
    "publish",
    "publish",
    "publish",
    "report",
    "report",
    "report",
    "publish",
    "publish",
    "publish",
    "report",
  ],
  "completed, uncollected": [
    "collect",
    "collect",
    "collect",
    "report",
    "report",
    "report",
    "collect",
    "collect",
    "collect",
    "report",
  ],
  failed: ["none", "none", "none", "report", "report", "report", "none", "none", "none", "report"],
};

const cells = Object.entries(table).flatMap(([row, verdicts]) =>
  Object.keys(engineSays).map((says, column) => [row, says, verdicts[column] as Verdict] as const),
);

function actionsFor(
  change: Partial<ContainerRecord>,
  observed: ObservedContainer,
  isOwnerAlive = false,
): RecordCorrectionAction[] {
  const record = recordWith(change);
  const { corrections } = reconcileRecords([record], new Map([[record.containerName, observed]]), () => ({
    isOwnerAlive,
    lastCheckpoint: checkpoint,
  }));
  return corrections.map(({ action }) => action);
}

function verdictOf(action: RecordCorrectionAction | undefined): string {
  if (!action) return "none";
  if (action.kind !== "set-status") return action.kind;
  return action.reason ? `${action.to} ${action.reason.code}` : action.to;
}

describe("a record beside what the engine says", () => {
  test("the table has every cell", () => {
    expect(Object.keys(table)).toEqual(Object.keys(rows));
    expect(Object.values(table).every((verdicts) => verdicts.length === Object.keys(engineSays).length)).toBe(
      true,
    );
  });

  test.each(cells)("%s, and the engine says %s: %s", (row, says, verdict) => {
    const [first] = actionsFor(rows[row] ?? {}, engineSays[says] ?? { kind: "missing", volume: false });

    expect(verdictOf(first)).toBe(verdict);
  });

  test.each(Object.keys(engineSays))(
    "a record that a living owner is creating is left alone, whatever the engine says (%s)",
    (says) => {
      expect(actionsFor({ creating }, engineSays[says] as ObservedContainer, true)).toEqual([]);
    },
  );

  test("a finished container that runs on is reported, and its work and branch are still brought home", () => {
    const branch = { ref: "refs/heads/x", old: null, new: checkpoint, done: false };

    const actions = actionsFor(
      { status: "completed", containerId: id, branch },
      engineSays["running"] as ObservedContainer,
    );

    expect(actions.map(({ kind }) => kind)).toEqual(["report", "collect", "publish"]);
  });

  test("containers that no record knows are orphans", () => {
    const { corrections, orphans } = reconcileRecords(
      [],
      new Map([["aimi-stray", engineSays["running"] as ObservedContainer]]),
      () => ({ isOwnerAlive: false, lastCheckpoint: null }),
    );

    expect({ corrections, orphans }).toEqual({ corrections: [], orphans: ["aimi-stray"] });
  });
});

describe("a container of our name and labels with another id", () => {
  test("is adopted: the engine's id changed, the worker did not", () => {
    const other: ObservedContainer = { kind: "running", containerId: "b".repeat(64), labelsAgree: true };

    expect(actionsFor({ status: "running", containerId: id }, other)).toEqual([
      { kind: "adopt", containerId: "b".repeat(64) },
    ]);
  });
});

describe("how an attempt ended", () => {
  const error = { code: "AGENT_CRASH", message: "it fell" };

  test.each([
    ["completed", 0, "completed"],
    ["failed", 1, "failed"],
    ["stopped", 143, "stopped"],
    ["completed", 137, "completed"],
    ["completed", 143, "completed"],
    ["failed", 255, "failed"],
    ["stopped", null, "stopped"],
    ["completed", null, "completed"],
    ["completed", 1, "failed ACP_PROTOCOL_VIOLATION"],
    ["failed", 0, "failed ACP_PROTOCOL_VIOLATION"],
    ["stopped", 2, "failed ACP_PROTOCOL_VIOLATION"],
  ] as const)(
    "the journal ends with %s, the container exited with %s: %s",
    (completion, exitCode, expected) => {
      const container = { ...plainEnd, exitCode };
      const { status, reason } = judgeEndedAttempt(container, { completion, error: null });

      expect(reason ? `${status} ${reason.code}` : status).toBe(expected);
    },
  );

  test.each([
    [
      "out of memory comes before an error",
      { exitCode: 137, oomKilled: true },
      error,
      "failed CONTAINER_OOM",
    ],
    ["an error in the journal is the reason", { exitCode: 2, oomKilled: false }, error, "failed AGENT_CRASH"],
    ["a kill is an interruption", { exitCode: 137, oomKilled: false }, null, "stopped INTERRUPTED"],
    [
      "a silent success is an interruption, never a success",
      { exitCode: 0, oomKilled: false },
      null,
      "stopped INTERRUPTED",
    ],
    [
      "a daemon's restart is an interruption",
      { exitCode: 255, oomKilled: false },
      null,
      "stopped INTERRUPTED",
    ],
    ["an end by itself is one, too", { exitCode: 134 }, null, "stopped INTERRUPTED"],
    [
      "an end by itself without a process left is told as that",
      { exitCode: 134, processes: { now: 510, most: 512 } },
      null,
      "failed PROCESSES_EXHAUSTED",
    ],
    [
      "a kill of one without a process left is a kill",
      { exitCode: 137, processes: { now: 512, most: 512 } },
      null,
      "stopped INTERRUPTED",
    ],
    [
      "an end by itself of one that had some left is no more than that",
      { exitCode: 134, processes: { now: 480, most: 512 } },
      null,
      "stopped INTERRUPTED",
    ],
    [
      "the end of gVisor's kernel is for want of threads",
      { exitCode: 2, runtime: "runsc" },
      null,
      "failed PROCESSES_EXHAUSTED",
    ],
    ["the same code elsewhere is not", { exitCode: 2, runtime: "runc" }, null, "stopped INTERRUPTED"],
  ] as const)("without a completion, %s", (_name, container, found, expected) => {
    const ended = { ...plainEnd, ...container };
    const { status, reason } = judgeEndedAttempt(ended, { completion: null, error: found });

    expect(`${status} ${reason?.code}`).toBe(expected);
  });
});

describe("applying a correction", () => {
  const state = swarmOf(1);
  const [record] = state.containers as [ContainerRecord];
  const from = {
    status: record.status,
    containerId: record.containerId,
    attempt: record.attempt,
    creating: record.creating,
  };
  const lost: RecordCorrectionAction = {
    kind: "set-status",
    to: "failed",
    reason: { code: "CONTAINER_LOST", message: "gone" },
  };

  test("changes the record it was decided from", () => {
    const after = applyRecordCorrections(
      state,
      [{ container: record.containerName, from, action: lost }],
      now,
    ).state;

    expect(after.containers[0]).toMatchObject({ status: "failed", reason: { code: "CONTAINER_LOST" } });
  });

  test.each([
    ["its status", { status: "running" }],
    ["its container", { containerId: id }],
    ["its attempt", { attempt: 2 }],
    ["its creation", { creating }],
  ] as const)("leaves a record alone that has moved on in %s", (_what, change) => {
    const moved = { ...state, containers: [{ ...record, ...change }] };

    expect(
      applyRecordCorrections(moved, [{ container: record.containerName, from, action: lost }], now).state,
    ).toBe(moved);
  });

  test("leaves a state alone that no longer has the record", () => {
    const empty = { ...state, containers: [] };

    expect(
      applyRecordCorrections(empty, [{ container: record.containerName, from, action: lost }], now).state,
    ).toBe(empty);
  });

  test("adopts a container whose creation was cut off, and clears one that left nothing", () => {
    const cutOff = { ...state, containers: [{ ...record, creating }] };
    const decided = { container: record.containerName, from: { ...from, creating } };

    expect(
      applyRecordCorrections(cutOff, [{ ...decided, action: { kind: "adopt", containerId: id } }], now).state
        .containers[0],
    ).toMatchObject({ creating: null, containerId: id });
    expect(
      applyRecordCorrections(cutOff, [{ ...decided, action: { kind: "clear-creating" } }], now).state
        .containers[0],
    ).toMatchObject({ creating: null, containerId: null });
  });
});
