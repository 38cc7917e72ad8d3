import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { count } from "../counts.ts";

const program = fileURLToPath(new URL("../fakes/protocol/hostile-process.ts", import.meta.url));
const megabyte = 1024 * 1024;
const timeout = 120_000;

/** In a process of its own: what this one holds would hide what the reader holds. */
async function read(what: string, how: string, times: number): Promise<Readonly<Record<string, number>>> {
  const flags = ["--expose-gc", "--max-semi-space-size=1"];
  // Compiled code that is kept comes into the memory bit by bit, and would be taken for the reader's.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
  const words = [...flags, program, what, how, String(times)];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  return JSON.parse(stdout);
}

describe.concurrent("hostile streams", () => {
  test("crash nothing, forge nothing, and show nothing that a terminal obeys", { timeout }, async () => {
    const seen = await read("streams", "ours", count.hostileStreams);

    expect(seen).toMatchObject({ crashes: 0, forged: 0, outOfOrder: 0, controls: 0, polluted: 0 });
    expect(seen["grownBytes"]).toBeLessThan(128 * megabyte);
    // They are not all refused at once, nor all harmless.
    expect(seen["violations"]).toBeGreaterThan(count.hostileStreams / 3);
    expect(seen["completions"]).toBeGreaterThan(count.hostileStreams / 10);
    expect(seen["accepted"]).toBeGreaterThan(count.hostileStreams * 3);
  });

  test("fool and crash whoever splits, parses and believes", { timeout }, async () => {
    const seen = await read("streams", "naive", 2_000);

    expect(seen["crashes"]).toBeGreaterThan(200);
    expect(seen["forged"]).toBeGreaterThan(100);
    expect(seen["controls"]).toBeGreaterThan(100);
  });
});

describe("a line without an end", () => {
  test.each(["ours", "dropping"])("takes next to no memory, read %s", { timeout }, async (how) => {
    expect((await read("line", how, count.endlessLineBytes))["grownBytes"]).toBeLessThan(8 * megabyte);
  });

  test("takes all that there is of whoever waits for its end", { timeout }, async () => {
    expect((await read("line", "naive", 200_000_000))["grownBytes"]).toBeGreaterThan(100 * megabyte);
  });

  test("sent byte by byte among much else takes no more", { timeout }, async () => {
    expect((await read("scraps", "ours", 5_000))["grownBytes"]).toBeLessThan(64 * megabyte);
    expect((await read("scraps", "copyless", 5_000))["grownBytes"]).toBeGreaterThan(200 * megabyte);
  });
});
