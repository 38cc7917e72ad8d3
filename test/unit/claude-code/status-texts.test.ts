import { describe, expect, test } from "vitest";
import {
  formatEndLine,
  formatSessionContextLine,
  formatStatusLine,
  type SwarmLineInput,
} from "../../../src/claude-code/rules/status-texts.ts";
import type { ContainerStatus } from "../../../src/contract/swarm-state.ts";

const of = (statuses: readonly ContainerStatus[], costUsd: number | null = null): SwarmLineInput => ({
  swarmId: "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b",
  containers: statuses.map((status, index) => ({ status, usage: index === 0 ? { costUsd } : null })),
});
const all: readonly ContainerStatus[] = ["completed", "completed", "running", "pending", "stopped", "failed"];

describe("a swarm in a line", () => {
  test.each<[string, SwarmLineInput, boolean, string]>([
    ["of every kind", of(all), true, "swarm 3f2b8c 2/6 done, 1 running, 1 pending, 1 stopped, 1 failed"],
    [
      "that nobody acts on",
      of(["pending"]),
      false,
      "swarm 3f2b8c 0/1 done, 1 pending, no process runs this swarm",
    ],
    ["that is over", of(["completed", "failed"]), false, "swarm 3f2b8c 1/2 done, 1 failed"],
    ["with its cost", of(["completed"], 1.2), false, "swarm 3f2b8c 1/1 done, $1.20"],
  ])("%s", (_name, swarm, isOwned, line) => {
    expect(formatStatusLine(swarm, { isOwned })).toBe(line);
  });
});

describe("what a session is told of a swarm", () => {
  const news = (swarm: SwarmLineInput, isOwned: boolean) =>
    formatSessionContextLine(swarm, { isOwned, program: "/p/bin/swarm" });

  test("is nothing where there is nothing to do", () => {
    expect(news(of([]), false)).toBeNull();
    expect(news(of(["completed", "completed"]), false)).toBeNull();
  });

  test("is how it stands, and the next command", () => {
    expect(news(of(["running", "completed"]), true)).toBe(
      "swarm 3f2b8c is running: 1 of 2 workers completed, 1 running; next: /p/bin/swarm status --json",
    );
    expect(news(of(["running", "completed"]), false)).toBe(
      "swarm 3f2b8c was interrupted: 1 of 2 workers completed, 1 running; next: /p/bin/swarm resume -d --json",
    );
    expect(news(of(["failed"]), false)).toBe(
      "swarm 3f2b8c has ended and needs attention: 0 of 1 worker completed, 1 failed; next: /p/bin/swarm summary --json",
    );
  });
});

test("the end of a swarm is told as what it is", () => {
  expect(formatEndLine(of(["completed", "failed"]))).toBe(
    "swarm 3f2b8c has ended: 1 of 2 workers completed, 1 failed",
  );
  expect(formatEndLine(of(["completed", "stopped"]))).toBe(
    "swarm 3f2b8c is not running: 1 of 2 workers completed, 1 stopped",
  );
});
