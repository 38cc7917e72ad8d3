import { describe, expect, test } from "vitest";
import type { ContainerRecord } from "../../../../src/state/rules/swarm-state.ts";
import { nextAttemptDelayMs, restartDelayMs } from "../../../../src/swarm/worker/rules/retry-policy.ts";
import { recordWith } from "../../../fakes/state/records.ts";

const policy = { maxAttempts: 3, failFast: false };
const because = (code: string) => ({ code, message: "" });
const failed = (code: string, attempt = 1) =>
  recordWith({ status: "failed", attempt, reason: because(code) });

describe("the next attempt after a failure", () => {
  test("comes later each time, as often as the policy says", () => {
    expect(nextAttemptDelayMs(failed("AGENT_CRASH", 1), policy, 1)).toBe(1_000);
    expect(nextAttemptDelayMs(failed("AGENT_CRASH", 2), policy, 1)).toBe(2_000);
    expect(nextAttemptDelayMs(failed("AGENT_CRASH", 2), policy, 0)).toBe(1_000);
    expect(nextAttemptDelayMs(failed("AGENT_CRASH", 3), policy, 1)).toBeNull();
  });

  test.for([
    ...["AGENT_NOT_FOUND", "AGENT_AUTH_FAILED", "BASE_CONFLICT", "COLLECT_FAILED", "DEPENDENCY_FAILED"],
    "BUDGET_EXCEEDED",
  ])("%s is met by every attempt, and so has no other", (code) => {
    expect(nextAttemptDelayMs(failed(code), policy, 1)).toBeNull();
  });

  test("is only for what failed, and not where the first failure ends all", () => {
    for (const status of ["pending", "running", "stopped", "completed"] as const)
      expect(nextAttemptDelayMs({ ...failed("AGENT_CRASH"), status }, policy, 1)).toBeNull();
    expect(nextAttemptDelayMs(failed("AGENT_CRASH"), { ...policy, failFast: true }, 1)).toBeNull();
    expect(nextAttemptDelayMs({ ...failed("AGENT_CRASH"), reason: null }, policy, 1)).toBe(1_000);
  });
});

describe("a worker that was interrupted", () => {
  const stopped = (code: string) => recordWith({ status: "stopped", reason: because(code) });

  test("goes on, later each time, and is left to people after five", () => {
    const waits = [1, 2, 3, 4, 5, 6].map((times) => restartDelayMs(stopped("INTERRUPTED"), times, 1));
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, null]);
  });

  test("is left to people at once where another try would meet the same", () => {
    expect(restartDelayMs(stopped("CONTAINER_REFUSED"), 1, 1)).toBeNull();
    expect(restartDelayMs(stopped("BUDGET_EXCEEDED"), 1, 1)).toBeNull();
    expect(restartDelayMs(recordWith({ status: "stopped", reason: null }), 1, 1)).toBeNull();
    expect(restartDelayMs({ ...stopped("INTERRUPTED"), status: "failed" }, 1, 1)).toBeNull();
  });
});

describe("a failure like the one before", () => {
  const often = { maxAttempts: 5, failFast: false };
  const failedAgain = (message: string, before: string): ContainerRecord => ({
    ...recordWith({ status: "failed", attempt: 2, reason: { code: "VERIFY_FAILED", message } }),
    earlier: [{ attempt: 1, code: "VERIFY_FAILED", message: before, at: "2026-01-02T00:00:00.000Z" }],
  });

  test("is not met a third time", () => {
    expect(
      nextAttemptDelayMs(
        failedAgain("exit 1 after 32 s at 1a2b3c4d", "exit 1 after 30 s at 99aabbcc"),
        often,
        0,
      ),
    ).toBeNull();
  });

  test("is another one where it ends otherwise", () => {
    expect(nextAttemptDelayMs(failedAgain("`lint` failed", "`test` failed"), often, 0)).not.toBeNull();
  });
});
