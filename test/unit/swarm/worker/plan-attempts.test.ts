import { describe, expect, test } from "vitest";
import type { ContainerRecord, SwarmState } from "../../../../src/state/rules/swarm-state.ts";
import { planRetryAttempts } from "../../../../src/swarm/worker/rules/plan-attempts.ts";
import { now, recordWith, swarmOf } from "../../../fakes/state/records.ts";

const name = "aimi-012345-3f2b8c-one";
const failed: Partial<ContainerRecord> = {
  ...{ containerName: name, status: "failed", containerId: "c".repeat(64), lastSeq: 12, exitCode: 1 },
  reason: { code: "AGENT_CRASH", message: "it broke" },
  collected: { commit: "b".repeat(40), ref: "refs/aimi/x/one", at: now.toISOString() },
  stories: [
    { id: "US-001", status: "completed", commit: "b".repeat(40), attempt: 1, reason: null },
    { id: "US-002", status: "completed", commit: null, attempt: 1, reason: null },
    {
      id: "US-003",
      ...{ status: "failed", commit: null, attempt: 1, reason: { code: "AGENT_CRASH", message: "" } },
    },
    { id: "US-004", status: "skipped", commit: null, attempt: 1, reason: null },
  ],
};
const other = { containerName: "aimi-012345-3f2b8c-two", taskFilePath: ".aimi/tasks/two-tasks.json" };

function retried(
  records: readonly Partial<ContainerRecord>[],
  names: readonly string[],
  lost: readonly string[] = [],
): readonly ContainerRecord[] {
  const state: SwarmState = { ...swarmOf(0), containers: records.map(recordWith) };
  return planRetryAttempts(state, names, { reopened: new Map(), lost: new Set(lost), now }).containers;
}

describe("the next attempt of a worker", () => {
  test("is another container, which has only what is not done, and begins with what was collected", () => {
    const [record] = retried([failed], [name]);

    expect(record).toMatchObject({
      ...{ containerName: `${name}.a2`, attempt: 2, status: "pending", containerId: null, lastSeq: 0 },
      ...{ reason: null, exitCode: null, finishedAt: null, collected: failed.collected },
      storyProgress: { total: 4, completed: 2, failed: 0, pending: 2, skipped: 0 },
    });
    expect(record?.stories.map(({ status, attempt }) => [status, attempt])).toEqual([
      ["completed", 1],
      ["completed", 1],
      ["pending", 2],
      ["pending", 2],
    ]);
  });

  test("has a story again whose commit never came here", () => {
    const [record] = retried([failed], [name], ["b".repeat(40)]);

    expect(record?.stories[0]).toMatchObject({ status: "pending", commit: null, attempt: 2 });
    expect(record?.stories[1]?.status).toBe("completed");
  });

  test("is counted from the last one, whatever its name was", () => {
    const [record] = retried([{ ...failed, containerName: `${name}.a2`, attempt: 2 }], [`${name}.a2`]);

    expect(record).toMatchObject({ containerName: `${name}.a3`, attempt: 3 });
  });

  test("is had by those that are named; a stopped one goes on in its container, and others are left alone", () => {
    const stopped = { ...failed, status: "stopped", attempt: 2 } as const;

    expect(retried([stopped], [name])[0]).toMatchObject({
      ...{ containerName: name, attempt: 2, status: "pending", containerId: failed.containerId, lastSeq: 12 },
    });
    for (const status of ["completed", "running", "pending"] as const)
      expect(retried([{ ...failed, status }], [name])).toEqual([recordWith({ ...failed, status })]);
    expect(retried([failed], [])).toEqual([recordWith(failed)]);
  });

  test("lets those wait again that were skipped because of a failure", () => {
    const skipped = {
      ...other,
      status: "failed",
      reason: { code: "DEPENDENCY_FAILED", message: "" },
    } as const;

    expect(retried([failed, skipped], [name])[1]).toMatchObject({
      status: "pending",
      reason: null,
      attempt: 1,
    });
  });

  test("is what was wished; any other wish is still open", () => {
    expect(retried([{ ...failed, wish: "retry" }], [name])[0]?.wish).toBeNull();
    expect(retried([{ ...failed, wish: "stop" }], [name])[0]?.wish).toBe("stop");
    expect(retried([{ ...failed, status: "stopped", wish: "pause" }], [name])[0]?.wish).toBe("pause");
  });

  test("is kept back by no pause of before", () => {
    const paused = { reason: "the user paused the worker", since: now.toISOString(), until: null };

    for (const status of ["failed", "stopped"] as const)
      expect(retried([{ ...failed, status, paused }], [name])[0]?.paused).toBeNull();
  });
});
