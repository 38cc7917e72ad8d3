import { expect, test } from "vitest";
import { explainNothingToRun } from "../../../../src/cli/render/explain-nothing-to-run.ts";

test("the command that repeats a file quotes its name for a shell", () => {
  const file = ".aimi/tasks/it's new-tasks.json";

  const { next } = explainNothingToRun([{ file, why: "failed on 2026-01-02" }], [file]);

  expect(next).toBe(
    "`swarm start '.aimi/tasks/it'\\''s new-tasks.json' --again` carries out this task file again",
  );
});
