import { describe, expect, test } from "vitest";
import type { ProofCheck } from "../../../../src/contract/proof.ts";
import { judgeProof } from "../../../../src/swarm/merge/rules/judge-proof.ts";

function check(before: number, after: number | null, isDemanded = false): ProofCheck {
  const ran = (exitCode: number | null) => ({ exitCode, output: "", durationMs: 1 });
  return { command: "npm test", isDemanded, before: ran(before), after: ran(after) };
}

describe("a result in a fresh sandbox", () => {
  test.for([
    ["is not checked where there is no check", [], "not-checked", null],
    ["is proved where all pass", [check(0, 0), check(1, 0, true)], "proved", null],
    [
      "is not worse where only what failed before fails",
      [check(1, 1)],
      "not-worse",
      "`npm test` fails, as it did before the work",
    ],
    [
      "is broken where what passed before fails",
      [check(0, 3), check(1, 0, true)],
      "broken",
      "`npm test` exits with 3 in a fresh sandbox but passed before the agent's work",
    ],
    [
      "is broken where what the task demands fails, though it failed before",
      [check(1, 1, true), check(0, 1)],
      "broken",
      "`npm test` exits with 1 in a fresh sandbox and also failed before the agent's work (and 1 more check)",
    ],
    [
      "is broken by a check that does not end",
      [check(0, null)],
      "broken",
      "`npm test` did not end in time in a fresh sandbox but passed before the agent's work",
    ],
  ] as const)("%s", ([, checks, verdict, why]) => {
    expect(judgeProof(checks)).toEqual({ verdict, why });
  });
});
