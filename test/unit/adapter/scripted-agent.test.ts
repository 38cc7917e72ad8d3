import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, expect, vi } from "vitest";
import { runScriptedAgent } from "../../../adapter/scripted-agent.ts";
import type { ScriptSteps } from "../../../src/contract/script-agent.ts";
import { test } from "../../fakes/folders.ts";

afterEach(() => vi.restoreAllMocks());

/** Plays the steps below the folder, and gives what was written to stderr, too. */
async function playIn(folder: string, steps: ScriptSteps): Promise<{ code: number; complaint: string }> {
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  let complaint = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    complaint += text;
    return true;
  });
  const code = await runScriptedAgent(Readable.from([JSON.stringify(steps)]), () => {});
  return { code, complaint };
}

test("a script writes below its folder", async ({ folder }) => {
  const { code } = await playIn(folder, [{ write: { path: "a/..b/c.txt", content: "c\n" } }]);

  expect(code).toBe(0);
  expect(readFileSync(join(folder, "a/..b/c.txt"), "utf8")).toBe("c\n");
});

test.for(["/tmp/aimi-play.txt", "../aimi-play.txt", "a/../../aimi-play.txt"])(
  "a script does not write to %s, says so and ends",
  async (path, { folder }) => {
    const { code, complaint } = await playIn(join(folder, "work"), [
      { write: { path, content: "no\n" } },
      { write: { path: "b.txt", content: "b\n" } },
    ]);

    expect(code).toBe(2);
    expect(complaint).toBe(`${path} was not written: the path is not below the current folder\n`);
    expect(existsSync(join(folder, "aimi-play.txt")) || existsSync(join(folder, "work/b.txt"))).toBe(false);
  },
);
