import { appendFileSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { followJsonLines, watchFolderForChanges } from "../../../src/wire/follow-json-lines.ts";
import { test } from "../../fakes/folders.ts";

const maxLineLength = 64;

describe("the lines of a file that grows", () => {
  test("are told once each, and a torn one when it is whole", async ({ folder }) => {
    const file = join(folder, "journal");
    const lines = followJsonLines(file, { maxLineLength });
    const news = () => Array.fromAsync(lines.readNewLines());

    expect(await news()).toEqual([]);
    writeFileSync(file, '{"a":1}\n{"b"');
    expect(await news()).toEqual([{ a: 1 }]);
    expect(await news()).toEqual([]);
    appendFileSync(file, ':2}\n{"c":3}\n');
    expect(await news()).toEqual([{ b: 2 }, { c: 3 }]);
  });

  test("are whole where the one that was torn was cut off and written anew", async ({ folder }) => {
    const file = join(folder, "journal");
    writeFileSync(file, '{"a":1}\n{"torn":');
    const lines = followJsonLines(file, { maxLineLength });
    expect(await Array.fromAsync(lines.readNewLines())).toEqual([{ a: 1 }]);

    truncateSync(file, '{"a":1}\n'.length);
    appendFileSync(file, '{"b":2}\n');

    expect(await Array.fromAsync(lines.readNewLines())).toEqual([{ b: 2 }]);
  });

  test("are read from the beginning when another file takes the place of the first", async ({ folder }) => {
    const file = join(folder, "journal");
    writeFileSync(file, '{"a":1}\n');
    const lines = followJsonLines(file, { maxLineLength });
    await Array.fromAsync(lines.readNewLines());

    writeFileSync(join(folder, "other"), '{"b":2}\n{"c":3}\n');
    renameSync(join(folder, "other"), file);

    expect(await Array.fromAsync(lines.readNewLines())).toEqual([{ b: 2 }, { c: 3 }]);
  });

  test("that are no JSON or longer than any may be are left out, and no others", async ({ folder }) => {
    const file = join(folder, "journal");
    const fitting = (length: number): string => `"${"y".repeat(length - 3)}"\n`;
    const content = [
      ...['{"a":1}\n', "no JSON\n", "\n", fitting(maxLineLength), `"${"x".repeat(3 * maxLineLength)}"\n`],
      ...['{"b":2}\n', `"${"x".repeat(maxLineLength)}"\n`, '{"c":3}\n'],
    ].join("");
    writeFileSync(file, content);

    expect(await Array.fromAsync(followJsonLines(file, { maxLineLength }).readNewLines())).toEqual([
      { a: 1 },
      "y".repeat(maxLineLength - 3),
      { b: 2 },
      { c: 3 },
    ]);
  });

  test("of a link are none: it may lead anywhere", async ({ folder }) => {
    writeFileSync(join(folder, "secret"), '{"a":1}\n');
    symlinkSync(join(folder, "secret"), join(folder, "journal"));

    expect(
      await Array.fromAsync(followJsonLines(join(folder, "journal"), { maxLineLength }).readNewLines()),
    ).toEqual([]);
  });
});

describe("the bell of a folder", () => {
  test("rings at a change, long before it rings by itself", async ({ folder }) => {
    using changes = watchFolderForChanges(folder, { everyMs: 600_000 }, new AbortController().signal);

    writeFileSync(join(folder, "journal"), "");

    await changes.wait();
  });

  test("rings with the signal, and by itself where there is no folder to watch", async ({ folder }) => {
    const stopping = new AbortController();
    using changes = watchFolderForChanges(join(folder, "none"), { everyMs: 1 }, stopping.signal);

    await changes.wait();
    stopping.abort();
    await changes.wait();
    await changes.wait();
  });
});
