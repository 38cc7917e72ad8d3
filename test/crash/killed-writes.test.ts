import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { removeTemporaryFiles, writeFileDurably } from "../../src/machine/durable-write.ts";
import { count } from "../counts.ts";
import { test } from "../fakes/folders.ts";
import { startProgram } from "../fakes/machine/processes.ts";

const maxLifeMs = 25;

/** Kills writers, in turn at a random moment and in the midst of a write; how often the file was torn, and how often a temporary file was left. */
async function killWriters(
  file: string,
  folder: string,
  how: "durable" | "plain",
  kills: number,
): Promise<{ torn: number; leftBehind: number }> {
  let torn = 0;
  let leftBehind = 0;
  const killOne = async (atRandom: boolean): Promise<void> => {
    const child = startProgram("machine/write-process", file, how);
    if (child.stdout) await once(child.stdout, "data");
    if (atRandom) await delay(Math.random() * maxLifeMs);
    else await untilWriteBegins(file, folder);
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    if (!isWhole(file)) torn += 1;
    if (readdirSync(folder).length > 1) leftBehind += 1;
  };
  for (let round = 0; round < kills; round += 1) await killOne(how === "plain" || round % 2 === 0);
  return { torn, leftBehind };
}

/** Ends when something stands beside the file: how long a write takes is the disk's matter, and chance would miss a quick one. */
async function untilWriteBegins(file: string, folder: string): Promise<void> {
  for await (const { filename } of watch(folder)) if (filename !== basename(file)) return;
}

function isWhole(file: string): boolean {
  try {
    const { generation, end } = JSON.parse(readFileSync(file, "utf8"));
    return generation === end;
  } catch {
    return false;
  }
}

describe(`${count.killedWrites} kill -9 during writes`, () => {
  test("never tear the file, and the next write leaves nothing beside it", async ({ folder }) => {
    const file = join(folder, "state.json");

    const seen = await killWriters(file, folder, "durable", count.killedWrites);

    expect(seen.torn).toBe(0);
    // Otherwise the kills hit nothing, and the test would prove nothing.
    expect(seen.leftBehind).toBeGreaterThan(count.killedWrites / 10);
    await removeTemporaryFiles(file);
    await writeFileDurably(file, "{}");
    expect(readdirSync(folder)).toEqual(["state.json"]);
  });

  test("control: a plain write is torn", async ({ folder }) => {
    const { torn } = await killWriters(
      join(folder, "state.json"),
      folder,
      "plain",
      Math.min(count.killedWrites, 60),
    );

    expect(torn).toBeGreaterThan(0);
  });
});
