import { expect, test } from "vitest";
import type { ContainerRecord } from "../../../src/contract/swarm-state.ts";
import { swarmExitCode } from "../../../src/state/rules/swarm-exit.ts";
import { recordWith } from "../../fakes/state/records.ts";

type Shown = readonly [status: ContainerRecord["status"], code?: string];

const recordOf = ([status, code]: Shown): ContainerRecord =>
  recordWith({ status, reason: code === undefined ? null : { code, message: "why" } });

test.for<[title: string, workers: readonly Shown[], exit: number]>([
  ["no workers", [], 0],
  ["all completed", [["completed"], ["completed"]], 0],
  ["one failed", [["completed"], ["failed", "VERIFY_FAILED"]], 5],
  ["one failed without a reason", [["failed"]], 5],
  ["the only one that failed came to a limit", [["completed"], ["failed", "AGENT_LIMIT_REACHED"]], 7],
  [
    "memory, disk and what may be committed are limits too",
    [
      ["failed", "CONTAINER_OOM"],
      ["failed", "DISK_FULL"],
      ["failed", "WORK_TOO_LARGE"],
    ],
    7,
  ],
  [
    "a budget is a limit too, and what it stopped beside what it ended",
    [
      ["failed", "BUDGET_EXCEEDED"],
      ["stopped", "BUDGET_EXCEEDED"],
    ],
    7,
  ],
  [
    "one failed by itself, one by a limit",
    [
      ["failed", "AGENT_LIMIT_REACHED"],
      ["failed", "AGENT_CRASH"],
    ],
    5,
  ],
  ["stopped by a limit", [["completed"], ["stopped", "AGENT_LIMIT_REACHED"]], 7],
  ["stopped by somebody", [["completed"], ["stopped", "INTERRUPTED"]], 8],
  ["stopped by a limit, and one runs on", [["stopped", "AGENT_LIMIT_REACHED"], ["running"]], 8],
  ["some wait", [["completed"], ["pending"]], 8],
  ["one failed, one runs", [["failed", "VERIFY_FAILED"], ["running"]], 8],
  ["a reason of an earlier limit is none of what runs now", [["running", "AGENT_LIMIT_REACHED"]], 8],
  [
    "skipped because of one that came to a limit",
    [
      ["failed", "AGENT_LIMIT_REACHED"],
      ["failed", "DEPENDENCY_FAILED"],
    ],
    7,
  ],
  [
    "skipped because of one that failed",
    [
      ["failed", "AGENT_CRASH"],
      ["failed", "AGENT_LIMIT_REACHED"],
      ["failed", "DEPENDENCY_FAILED"],
    ],
    5,
  ],
  ["skipped, and nobody sees why", [["failed", "DEPENDENCY_FAILED"]], 5],
])("%s: the exit says so", ([, workers, exit]) => {
  expect(swarmExitCode({ containers: workers.map(recordOf) })).toBe(exit);
});
