import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { type EntryToPack, packFiles } from "../../../src/archive/pack-files.ts";
import { type ArchiveLimits, readArchive } from "../../../src/archive/read-archive.ts";
import { type UnpackResult, unpackArchive } from "../../../src/archive/unpack-archive.ts";
import { test } from "../../fakes/folders.ts";

function file(path: string, size = 0): EntryToPack {
  return { kind: "file", path, mode: 0o644, uid: 0, gid: 0, content: Buffer.alloc(size, "x") };
}

async function unpacked(
  folder: string,
  files: readonly EntryToPack[],
  limits: ArchiveLimits,
): Promise<UnpackResult> {
  return unpackArchive(packFiles(files), { into: join(folder, "out"), limits, leaveOut: true });
}

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

  test.for<[what: string, files: EntryToPack[], last: string]>([
    ["too many files", Array.from({ length: 14 }, (_, number) => file(`${number}`)), "10"],
    ["more than is read and thrown away", [file("a"), file("b", 150), file("c", 151), file("d")], "c"],
  ])("%s end it, and the first that was not taken says so", async ([_what, files, last], { folder }) => {
    const { leftOut } = await unpacked(folder, files, limits);

    expect(leftOut.at(-1)).toMatchObject({
      ...{ kind: "missed", path: last },
      reason: expect.stringContaining("swarm left out all later entries"),
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
