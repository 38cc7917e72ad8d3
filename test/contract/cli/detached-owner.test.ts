import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../fakes/cli/owner-process.ts", import.meta.url));

function left(what: string): { child: ChildProcess; words: unknown[]; ended: Promise<unknown[]> } {
  const child = spawn(process.execPath, [program, what], { stdio: ["pipe", "ignore", "inherit", "ipc"] });
  const words: unknown[] = [];
  child.on("message", (word) => words.push(word));
  return { child, words, ended: once(child, "close") };
}

describe("a process that is left in the background", () => {
  test.for([
    ["begins", [{ begun: "the swarm" }], 5],
    ["nothing", [{ begun: null }], 0],
    ["refused", [{ failed: { code: "OWNED_BY_ANOTHER", details: { holder: "somebody" } } }], 1],
    // Its parent learns from its end that it has not begun.
    ["breaks", [], 1],
  ] as const)("%s: says so once", async ([what, said, exit]) => {
    const { words, ended } = left(what);

    expect(await ended).toEqual([exit, null]);
    expect(words).toEqual(said);
  });

  test("goes on when whoever started it is gone before it has begun", async () => {
    const { child, words } = left("slow");
    const exited = once(child, "exit");
    child.disconnect();
    child.stdin?.end();

    expect(await exited).toEqual([0, null]);
    expect(words).toEqual([]);
  });
});
