import { describe, expect, test } from "vitest";
import type { MergedWorker } from "../../../../src/contract/merge.ts";
import type { ProofCheck, ProofReport } from "../../../../src/contract/proof.ts";
import {
  reworkRequestFromFailure,
  reworkRequestFromMerge,
  reworkRequestFromProof,
} from "../../../../src/swarm/worker/rules/rework-request.ts";

const record = {
  stories: ["US-001", "US-002"].map((id) => ({
    ...{ id, status: "completed" as const, commit: null, attempt: 1, reason: null },
  })),
};

function proofOf(check: Partial<ProofCheck>, own: readonly string[][]): ProofReport {
  const ran = { exitCode: 0, output: "", durationMs: 1 };
  return {
    ...{ worker: "login", attempt: 1, commit: "c", base: "b", at: "now", verdict: "broken", why: "why" },
    checks: [
      {
        command: "npm test",
        isDemanded: false,
        before: ran,
        after: { ...ran, exitCode: 3, output: "boom" },
        ...check,
      },
    ],
    stories: own.map((checks, at) => ({ id: `US-00${at + 1}`, criteria: [], checks })),
    ...{ weakenedTests: [], isCut: false },
  };
}

describe("what an agent is told of", () => {
  test("a proof is the check that broke, how it was before, and what it printed", () => {
    expect(reworkRequestFromProof(proofOf({}, [[], []]), record)).toEqual({
      storyId: "US-002",
      message: expect.stringMatching(
        /The check passed before your work\..*\(exit 3\): `npm test`.*boom.*still in the repository/s,
      ),
      isKept: true,
      checks: ["npm test"],
    });
  });

  test("a proof goes to the story whose check it is, or to the last one", () => {
    const check = { command: "only", isDemanded: true };

    expect(reworkRequestFromProof(proofOf(check, [["only"], ["other"]]), record)?.storyId).toBe("US-001");
    expect(reworkRequestFromProof(proofOf(check, [["only"], ["only"]]), record)?.storyId).toBe("US-002");
  });

  test("a proof that is not broken is nothing", () => {
    expect(reworkRequestFromProof({ ...proofOf({}, [[], []]), verdict: "not-worse" }, record)).toBeNull();
  });

  test("a merge is with whom, in which files, and the check that failed", () => {
    const said: MergedWorker = {
      ...{
        worker: "login",
        outcome: "set aside",
        commit: "c",
        mergedAs: null,
        files: ["a.txt"],
        with: ["left"],
      },
      reason: { code: "MERGE_CONFLICT", message: "the result conflicts with left" },
      check: { exitCode: 1, output: "red", durationMs: 1 },
    };

    const told = reworkRequestFromMerge(said, {
      ...{
        command: "npm test",
        failsOnBase: false,
        branch: "swarm/abc/integration",
        conflicts: ["a.txt"],
        record,
      },
    });

    const markers = "! git grep -qE '^(<<<<<<<|>>>>>>>) ' -- ':(literal)a.txt'";
    expect(told).toMatchObject({ storyId: "US-002", isKept: true, checks: ["npm test", markers] });
    for (const words of ["left", "- a.txt", "conflict markers", "(exit 1): `npm test`", "red"])
      expect(told?.message).toContain(words);
  });

  test("a merge whose check was red without it is no check that has to pass", () => {
    const said: MergedWorker = {
      ...{ worker: "login", outcome: "set aside", commit: "c", mergedAs: null, files: [], with: [] },
      ...{ reason: null, check: null },
    };
    const told = reworkRequestFromMerge(said, {
      ...{ command: "npm test", failsOnBase: true, branch: "main", conflicts: [], record },
    });

    expect(told?.checks).toEqual([]);
  });

  test("a failure is its reason and the end of the failed check's output, and that its changes are gone", () => {
    const told = reworkRequestFromFailure({
      ...{ type: "progress-update", seq: 1, swarmId: "s", attempt: 1, containerId: "c", timestamp: "now" },
      payload: {
        ...{ storyId: "US-001", status: "failed", output: "" },
        reason: { code: "VERIFY_FAILED", message: "`npm test` failed after 2 repairs: exit 1" },
        checks: [{ command: "npm test", exitCode: 1, durationMs: 5, output: "\u001b[31mred\u001b[0m" }],
      },
    });

    expect(told).toMatchObject({ storyId: "US-001", isKept: false, checks: [] });
    expect(told.message).toMatch(/VERIFY_FAILED: `npm test` failed.*\nred\n.*swarm discarded the changes/s);
  });
});
