import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import type { UnpackResult } from "../../../src/archive/unpack-archive.ts";
import { test } from "../../fakes/folders.ts";

const program = fileURLToPath(new URL("../../fakes/archive/unpack-process.ts", import.meta.url));

interface Told extends Pick<UnpackResult, "bytes" | "leftOut" | "more"> {
  readonly listed: number;
}

/** In a process whose heap has room for so many MiB, which ends it when it takes more. */
async function unpackWithin(heapMiB: number, words: readonly (string | number)[]): Promise<Told> {
  const args = [`--max-old-space-size=${heapMiB}`, program, ...words.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

describe("what an archive names without end", () => {
  test("is counted and cut: 12 000 names of 4 kB that nobody can show take no more memory than one", async ({
    folder,
  }) => {
    const words = [join(folder, "out"), `line\n${"x".repeat(245)}`, 14, 12_000, "file"];

    const { bytes, leftOut, more } = await unpackWithin(24, words);

    expect([bytes, leftOut.length, more.barred]).toEqual([4, 100, 11_900]);
    expect(JSON.stringify(leftOut).length).toBeLessThan(150_000);
    expect(readdirSync(join(folder, "out"))).toEqual(["good.txt"]);
  });

  test("is counted and cut where names are too long: 1 000 of 50 kB", async ({ folder }) => {
    const words = [join(folder, "out"), "x".repeat(250), 200, 1_000, "file"];

    const { leftOut, more } = await unpackWithin(24, words);

    expect([leftOut.length, more.missed]).toEqual([100, 900]);
    expect(leftOut[0]).toMatchObject({ kind: "missed", reason: expect.stringContaining("longer than") });
    expect(readdirSync(join(folder, "out"))).toEqual(["good.txt"]);
  });

  test("is not remembered path by path: 4 500 folders below one long path", async ({ folder }) => {
    // About as deep as paths of this machine may be.
    const depth = Math.floor((3_900 - folder.length) / 201);
    const words = [join(folder, "out"), "x".repeat(200), depth, 4_500, "folder"];

    const { leftOut } = await unpackWithin(20, words);

    expect(leftOut).toEqual([]);
  });
});
