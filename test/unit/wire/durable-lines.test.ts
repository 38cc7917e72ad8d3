import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { openJournal, readJournal } from "../../../adapter/journal/journal.ts";
import {
  diskReserveFilePath,
  journalPath,
  type SandboxPaths,
} from "../../../adapter/machine/sandbox-paths.ts";
import { openDurableLines } from "../../../src/wire/durable-lines.ts";
import { test } from "../../fakes/folders.ts";

const never = new AbortController().signal;

/** A small filesystem of its own, for as long as the callback runs. */
async function onSmallDisk(
  folder: string,
  size: string,
  work: (disk: string) => Promise<void>,
): Promise<void> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", disk]);
  try {
    await work(disk);
  } finally {
    execFileSync("umount", ["--lazy", disk]);
  }
}

function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "ballast"), Buffer.alloc(bavail * bsize));
}

const isRoot = process.getuid?.() === 0;

describe("a file of lines", () => {
  test("has them in the order in which they came, however many come at once", async ({ folder }) => {
    const file = join(folder, "lines");
    const resolved: number[] = [];
    {
      await using lines = await openDurableLines(file);
      const adding = Array.from({ length: 500 }, (_, index) =>
        lines.add(String(index)).then(() => {
          // Whoever is told finds it there.
          expect(lines.count).toBeGreaterThan(index);
          resolved.push(index);
        }),
      );
      await lines.waitForLinesAfter(0, never);
      expect(readFileSync(file, "utf8").startsWith("0\n")).toBe(true);
      await Promise.all(adding);
      expect(lines.count).toBe(500);
    }

    expect(readFileSync(file, "utf8")).toBe(Array.from({ length: 500 }, (_, index) => `${index}\n`).join(""));
    expect(resolved).toEqual(Array.from({ length: 500 }, (_, index) => index));
  });

  test("are written together while the disk is busy", async ({ folder }) => {
    await using lines = await openDurableLines(join(folder, "lines"));
    const counts = new Set<number>();

    await Promise.all(
      Array.from({ length: 200 }, (_, index) => lines.add(`${index}`).then(() => counts.add(lines.count))),
    );

    // The first alone, the others behind it in one go.
    expect(counts.size).toBeLessThan(5);
  });

  test.for(["one\ntwo\nthr", "one\ntwo\n", "one\ntwo\n\u0000\u0000\u0000"])(
    "loses what is behind its last line break, and goes on there: %j",
    async (content, { folder }) => {
      const file = join(folder, "lines");
      writeFileSync(file, content);

      {
        await using lines = await openDurableLines(file);
        expect([lines.count, lines.size]).toEqual([2, 8]);
        await lines.add("x");
      }

      expect(readFileSync(file, "utf8")).toBe("one\ntwo\nx\n");
    },
  );

  test("that are added together count each, and stand there in their order", async ({ folder }) => {
    const file = join(folder, "lines");
    await using lines = await openDurableLines(file);

    await Promise.all([lines.add("one"), lines.add("two", "three"), lines.add("four")]);

    expect(lines.count).toBe(4);
    expect(readFileSync(file, "utf8")).toBe("one\ntwo\nthree\nfour\n");
  });

  test("longer than what is read at once is counted right", async ({ folder }) => {
    const file = join(folder, "lines");
    writeFileSync(file, `${"x".repeat(300_000)}\n${"y".repeat(1 << 18)}\ntorn`);

    await using lines = await openDurableLines(file);

    expect(lines.count).toBe(2);
  });

  test("tells who waits for more, and whoever no longer wants to", async ({ folder }) => {
    await using lines = await openDurableLines(join(folder, "lines"));
    const enough = new AbortController();
    const told = lines.waitForLinesAfter(0, never);
    const stopped = lines.waitForLinesAfter(5, enough.signal);

    await lines.add("one");
    await told;
    enough.abort();

    await stopped;
    expect(lines.count).toBe(1);
  });

  test.skipIf(!isRoot)(
    "on a full disk takes nothing back, tears nothing, and takes nothing more",
    async ({ folder }) => {
      await onSmallDisk(folder, "256k", async (disk) => {
        const file = join(disk, "lines");
        let asked = 0;
        await using lines = await openDurableLines(file, {
          freeSpace: async () => {
            asked += 1;
          },
        });
        await lines.add("first");
        fill(disk);

        const results = await Promise.allSettled(
          ["x".repeat(100_000), "y", "z"].map((line) => lines.add(line)),
        );
        rmSync(join(disk, "ballast"));

        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
        await expect(lines.add("later")).rejects.toMatchObject({ code: "ENOSPC" });
        expect(asked).toBe(1);
        expect(readFileSync(file, "utf8")).toBe("first\n");
        expect(lines.count).toBe(1);
      });
    },
  );

  test.skipIf(!isRoot)("goes on once room was made", async ({ folder }) => {
    await onSmallDisk(folder, "512k", async (disk) => {
      writeFileSync(join(disk, "reserve"), Buffer.alloc(256 << 10));
      await using lines = await openDurableLines(join(disk, "lines"), {
        freeSpace: async () => rmSync(join(disk, "reserve")),
      });
      fill(disk);

      await Promise.all(["x".repeat(100_000), "y"].map((line) => lines.add(line)));

      expect(lines.count).toBe(2);
    });
  });
});

describe("the supervisor's journal", () => {
  const pathsIn = (aimi: string): SandboxPaths => ({
    workspace: "/workspace",
    home: "/home/agent",
    aimi,
    layer: aimi,
  });
  const envelope = () => ({
    timestamp: "2026-01-31T12:00:00.000Z",
    swarmId: "s",
    attempt: 1,
    containerId: "",
  });
  const said = (summary: string) =>
    ({ type: "activity", payload: { storyId: "US-001", kind: "text", summary } }) as const;
  const open = (paths: SandboxPaths, onFull = () => {}) => openJournal(paths, { envelope, onFull });

  async function contentOf(paths: SandboxPaths): Promise<{ seq: number; payload: { summary: string } }[]> {
    return (await Array.fromAsync(readJournal(paths))) as never;
  }

  test("numbers messages without a gap, across runs and a torn line", async ({ folder }) => {
    const paths = pathsIn(folder);
    {
      await using journal = await open(paths);
      expect(await Promise.all(["a", "b", "c"].map((text) => journal.append(said(text))))).toEqual([1, 2, 3]);
    }
    appendFileSync(journalPath(paths), '{"type":"completion","seq":4,"payl');
    {
      await using journal = await open(paths);
      expect(journal.lastSeq).toBe(3);
      expect(await journal.append(said("d"))).toBe(4);
    }

    expect((await contentOf(paths)).map(({ seq, payload }) => [seq, payload.summary])).toEqual([
      ...[
        [1, "a"],
        [2, "b"],
      ],
      ...[
        [3, "c"],
        [4, "d"],
      ],
    ]);
  });

  test("gives no number to a message that fits on no line", async ({ folder }) => {
    const paths = pathsIn(folder);
    await using journal = await open(paths);
    const many = Array.from({ length: 50 }, () => "x").concat(Array.from({ length: 20_000 }, () => "y"));

    await journal.append(said("a"));
    await expect(journal.append({ type: "completion", payload: { errors: many } } as never)).rejects.toThrow(
      "too many fields",
    );
    await journal.append(said("b"));

    expect((await contentOf(paths)).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test("is read from any message on, whole lines, and on as they come", async ({ folder }) => {
    const paths = pathsIn(folder);
    await using journal = await open(paths);
    for (let count = 0; count < 300; count += 1) await journal.append(said(`${count} ${"x".repeat(1_000)}`));
    const enough = new AbortController();
    const seqs: number[] = [];

    for await (const lines of journal.read(200, enough.signal)) {
      const text = lines.toString();
      expect(text.endsWith("\n")).toBe(true);
      seqs.push(
        ...text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line).seq),
      );
      if (seqs.length === 100) void journal.append(said("last"));
      if (seqs.length > 100) enough.abort();
    }

    expect(seqs).toEqual(Array.from({ length: 101 }, (_, index) => 201 + index));
  });

  test.skipIf(!isRoot)("writes its last words on a full disk, for which it kept room", async ({ folder }) => {
    await onSmallDisk(folder, "6m", async (disk) => {
      const paths = pathsIn(disk);
      let full = 0;
      await using journal = await open(paths, () => (full += 1));
      expect(readFileSync(diskReserveFilePath(paths)).length).toBe(4 << 20);
      fill(disk);

      for (let count = 0; count < 20; count += 1) await journal.append(said("x".repeat(2_000)));

      expect(full).toBe(1);
      expect((await contentOf(paths)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    });
  });
});
