import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RanCheck } from "../../../../src/contract/proof.ts";
import { proofFiles } from "../../../../src/swarm/merge/proof-files.ts";
import {
  createWorkerResultProver,
  type WorkerResultToProve,
} from "../../../../src/swarm/merge/worker-result-prover.ts";
import { storyWith, taskFileWith } from "../../../fakes/tasks/task-files.ts";

const base = "b".repeat(40);

/** A prover for which each run of commands says how it ends; what it ran, in order. */
function proverWith(endOf: (commit: string, command: string) => number | null) {
  const root = mkdtempSync(join(tmpdir(), "proof-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const ran: string[] = [];
  const files = proofFiles({ root, swarmId: "swarm" });
  const prove = createWorkerResultProver({
    ...files,
    work: { readPatch: async () => ({ isCut: false }) },
    async runChecks(commit, commands) {
      ran.push(`${commit[0]}: ${commands.join(", ")}`);
      await new Promise(setImmediate);
      return commands.map(
        (command): RanCheck => ({
          ...{ exitCode: endOf(commit, command), output: "", durationMs: 1 },
        }),
      );
    },
    testCommand: async () => "npm test",
    crashPoint: () => {},
    clock: () => new Date(0),
  });
  const signal = new AbortController().signal;
  return {
    ...{ ran, root, files },
    prove: (slug: string, commit: string, verify: readonly string[] = []) =>
      prove(
        {
          ...{ slug, attempt: 1, base, commit: commit.repeat(40), verify: [] },
          taskFile: taskFileWith({ stories: [storyWith({ verify: [...verify] })] }),
        } satisfies WorkerResultToProve,
        signal,
      ),
  };
}

describe("a proof", () => {
  test("runs what the task demands, and then how the repository tests itself, before and after", async () => {
    const { prove, ran } = proverWith(() => 0);

    const { verdict, checks, stories } = await prove("one", "1", ["lint"]);

    expect(verdict).toBe("proved");
    expect(ran).toEqual(["b: lint, npm test", "1: lint, npm test"]);
    expect(checks.map(({ command, isDemanded }) => [command, isDemanded])).toEqual([
      ["lint", true],
      ["npm test", false],
    ]);
    expect(stories).toMatchObject([{ id: "US-001", checks: ["lint"] }]);
  });

  test("asks a base once for the same commands, also by two at once and by the next owner", async () => {
    const { prove, ran } = proverWith(() => 0);

    await Promise.all([prove("one", "1"), prove("two", "2")]);

    expect(ran.filter((run) => run.startsWith("b"))).toEqual(["b: npm test"]);
  });

  test("takes nothing from other commands: one may need what another left", async () => {
    const { prove, ran } = proverWith(() => 0);

    await prove("one", "1", ["build"]);
    await prove("two", "2", ["lint"]);

    expect(ran).toEqual([
      "b: build, npm test",
      "1: build, npm test",
      "b: lint, npm test",
      "2: lint, npm test",
    ]);
  });

  test("keeps nothing of a base whose commands came to no end of their own", async () => {
    const { prove, ran } = proverWith((commit) => (commit.startsWith("b") ? null : 0));

    await prove("one", "1");
    await prove("two", "2");

    expect(ran.filter((run) => run.startsWith("b"))).toHaveLength(2);
  });

  test("of nothing that changed is the base's own", async () => {
    const { prove, ran } = proverWith(() => 0);

    expect(await prove("one", "b")).toMatchObject({ verdict: "proved" });
    expect(ran).toEqual(["b: npm test"]);
  });

  test("believes no broken record of a base", async () => {
    const { prove, ran, root, files } = proverWith(() => 0);
    await files.storeBaseChecks(base, ["npm test"], [{ exitCode: 1, output: "", durationMs: 1 }]);
    writeFileSync(
      join(root, ".aimi/swarms/swarm/before", `${base}.json`),
      '[{"commands":["npm test"],"ran":[{}]}]',
    );

    await prove("one", "1");

    expect(ran).toEqual(["b: npm test", "1: npm test"]);
  });
});
