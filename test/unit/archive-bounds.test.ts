import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { type PackedFile, packFiles } from "../../src/archive/pack-files.ts";
import { type ArchiveLimits, readArchive } from "../../src/archive/read-archive.ts";
import { type Unpacked, unpackArchive } from "../../src/archive/unpack-archive.ts";
import { test } from "../fakes/folders.ts";

const program = fileURLToPath(new URL("../fakes/unpack-process.ts", import.meta.url));

interface Told extends Pick<Unpacked, "bytes" | "leftOut" | "more"> {
  readonly listed: number;
}

/** In a process whose heap has room for so many MiB, which ends it when it takes more. */
async function unpackWithin(heapMiB: number, words: readonly (string | number)[]): Promise<Told> {
  const args = [`--max-old-space-size=${heapMiB}`, program, ...words.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

function file(path: string, size = 0): PackedFile {
  return { kind: "file", path, mode: 0o644, uid: 0, gid: 0, content: Buffer.alloc(size, "x") };
}

async function unpacked(
  folder: string,
  files: readonly PackedFile[],
  limits: ArchiveLimits,
): Promise<Unpacked> {
  return unpackArchive(packFiles(files), { into: join(folder, "out"), limits, leaveOut: true });
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
  }, 60_000);

  test("is counted and cut where names are too long: 1 000 of 50 kB", async ({ folder }) => {
    const words = [join(folder, "out"), "x".repeat(250), 200, 1_000, "file"];

    const { leftOut, more } = await unpackWithin(24, words);

    expect([leftOut.length, more.missed]).toEqual([100, 900]);
    expect(leftOut[0]).toMatchObject({ kind: "missed", reason: expect.stringContaining("longer than") });
    expect(readdirSync(join(folder, "out"))).toEqual(["good.txt"]);
  }, 60_000);

  test("is not remembered path by path: 4 500 folders below one long path", async ({ folder }) => {
    // About as deep as paths of this machine may be.
    const depth = Math.floor((3_900 - folder.length) / 201);
    const words = [join(folder, "out"), "x".repeat(200), depth, 4_500, "folder"];

    const { leftOut } = await unpackWithin(20, words);

    expect(leftOut).toEqual([]);
  }, 60_000);
});

describe("what there is no room for", () => {
  const limits: ArchiveLimits = { entries: 10, bytes: 100, nameBytes: 1024 };

  test("costs no other file: one that is too large is told, and those behind it come out", async ({
    folder,
  }) => {
    const files = [file("a", 60), file("large", 101), file("no-room", 50), file("z", 40)];

    const { leftOut, ...rest } = await unpacked(folder, files, limits);

    expect(rest).toMatchObject({ files: ["a", "z"], bytes: 100 });
    expect(leftOut.map(({ kind, path }) => [kind, path])).toEqual([
      ["missed", "large"],
      ["missed", "no-room"],
    ]);
    expect(readdirSync(join(folder, "out"))).toEqual(["a", "z"]);
  });

  test.for<[what: string, files: PackedFile[], last: string]>([
    ["too many files", Array.from({ length: 14 }, (_, number) => file(`${number}`)), "10"],
    ["more than is read and thrown away", [file("a"), file("b", 150), file("c", 151), file("d")], "c"],
  ])("%s end it, and the first that was not taken says so", async ([_what, files, last], { folder }) => {
    const { leftOut } = await unpacked(folder, files, limits);

    expect(leftOut.at(-1)).toMatchObject({
      ...{ kind: "missed", path: last },
      reason: expect.stringContaining("nothing that follows it was taken"),
    });
    expect(readdirSync(join(folder, "out"))).not.toContain(files.at(-1)?.path);
  });

  test("control: where nothing may be left out, the same archive is refused", async () => {
    const read = async (): Promise<void> => {
      for await (const _ of readArchive(packFiles([file("a", 60), file("large", 101)]), { limits }));
    };

    await expect(read()).rejects.toMatchObject({ code: "ARCHIVE_REFUSED", details: { entry: "large" } });
  });
});
