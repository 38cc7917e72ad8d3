import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { OutputChunk } from "../../../../src/engine/containers.ts";
import { openOutputLog } from "../../../../src/sandbox/task/output-log.ts";
import { readOutputPieces } from "../../../../src/sandbox/task/read-output-pieces.ts";
import { test } from "../../../fakes/folders.ts";

const chunk = (stream: OutputChunk["stream"], text: string): OutputChunk => ({
  stream,
  bytes: Buffer.from(text),
});

/** The log of a task in a folder, whose events go where readers look for them. */
async function write(folder: string, chunks: Iterable<OutputChunk>): Promise<number> {
  mkdirSync(join(folder, "outputs"), { recursive: true });
  let lines = `${JSON.stringify({ event: "task-started" })}\n`;
  let told = 0;
  {
    await using log = await openOutputLog(join(folder, "outputs"), async (event) => {
      told += 1;
      lines += `${JSON.stringify(event)}\n`;
    });
    for (const piece of chunks) await log.write(piece);
  }
  appendFileSync(join(folder, "events.log"), `${lines}${JSON.stringify({ event: "task-ended" })}\n`);
  return told;
}

async function read(folder: string): Promise<{ stream: string; text: string }[]> {
  const pieces = await Array.fromAsync(readOutputPieces(folder, { follow: true }));
  return pieces.map(({ stream, bytes }) => ({ stream, text: Buffer.from(bytes).toString() }));
}

describe("what a task writes on its streams", () => {
  test("is read in its order, of the last task alone", async ({ folder }) => {
    await write(folder, [chunk("stdout", "of an earlier one")]);
    await write(folder, [chunk("stdout", "ä1"), chunk("stderr", "e1"), chunk("stdout", "o2")]);

    expect(await read(folder)).toEqual([
      { stream: "stdout", text: "ä1" },
      { stream: "stderr", text: "e1" },
      { stream: "stdout", text: "o2" },
    ]);
  });

  test("makes a bounded number of events, and is there to its end", async ({ folder }) => {
    const turns = 6_000;
    function* alternating(): Generator<OutputChunk> {
      for (let turn = 0; turn < turns; turn += 1) yield* [chunk("stdout", "o"), chunk("stderr", "e")];
    }

    const told = await write(folder, alternating());

    expect(told).toBeLessThanOrEqual(10_000);
    const pieces = await read(folder);
    for (const stream of ["stdout", "stderr"]) {
      const texts = pieces.filter((piece) => piece.stream === stream).map(({ text }) => text);
      expect(texts.join("")).toHaveLength(turns);
    }
  }, 60_000);
});
