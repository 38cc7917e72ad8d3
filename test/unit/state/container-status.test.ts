import { describe, expect, test } from "vitest";
import {
  type ContainerStatus,
  canChangeStatus,
  containerStatuses,
  nextStatuses,
} from "../../../src/state/rules/container-status.ts";

/** The table of docs/state.md: "yes", "no", or the one way back with `retry --onto`. */
const table: [from: ContainerStatus, to: ContainerStatus, allowed: "yes" | "no" | "onto"][] = [
  ["pending", "running", "yes"],
  ["pending", "completed", "yes"],
  ["pending", "failed", "yes"],
  ["pending", "stopped", "yes"],
  ["running", "pending", "no"],
  ["running", "completed", "yes"],
  ["running", "failed", "yes"],
  ["running", "stopped", "yes"],
  ["stopped", "pending", "yes"],
  ["stopped", "running", "yes"],
  ["stopped", "completed", "yes"],
  ["stopped", "failed", "yes"],
  ["failed", "pending", "yes"],
  ["failed", "running", "no"],
  ["failed", "completed", "no"],
  ["failed", "stopped", "no"],
  ["completed", "pending", "onto"],
  ["completed", "running", "no"],
  ["completed", "failed", "no"],
  ["completed", "stopped", "no"],
];

describe("what a container's record may become", () => {
  test("the table has every cell", () => {
    const cells = containerStatuses.length * (containerStatuses.length - 1);

    expect(new Set(table.map(([from, to]) => `${from} ${to}`)).size).toBe(cells);
  });

  test.each(table)("%s → %s: %s", (from, to, allowed) => {
    expect(canChangeStatus(from, to)).toBe(allowed === "yes");
    expect(canChangeStatus(from, to, { onto: true })).toBe(allowed !== "no");
  });

  test.each(containerStatuses)("staying %s is no move", (status) => {
    expect(canChangeStatus(status, status)).toBe(true);
  });

  test("a hint names exactly what is allowed", () => {
    expect(nextStatuses("failed")).toEqual(["pending"]);
    expect(nextStatuses("completed")).toEqual([]);
  });
});
