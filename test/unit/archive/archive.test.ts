import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect } from "vitest";
import { type EntryToPack, packFiles } from "../../../src/archive/pack-files.ts";
import { type ArchiveLimits, readArchive } from "../../../src/archive/read-archive.ts";
import { unpackArchive } from "../../../src/archive/unpack-archive.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

const limits: ArchiveLimits = { entries: 100, bytes: 10_000_000, nameBytes: 4096 };

const owner = { uid: 1000, gid: 1000 };

const samples: { readonly [path: string]: string | Uint8Array } = {
  "empty.txt": "",
  "one block.bin": Buffer.alloc(512, 7),
  "binary.bin": Buffer.from(Array.from({ length: 70_001 }, (_, nth) => (nth * 31) % 256)),
  "ünïcode/日本語 🐝.txt": "text",
  [`${"long/".repeat(30)}name`]: "over 100 bytes",
  [`${"longer-".repeat(8)}/`.repeat(6).concat("é".repeat(100))]: "over 255 bytes",
  "-dash": "looks like an option",
  "back\\slash": "is a letter like any other",
};

/** Short enough for the oldest format. */
const modestSamples = Object.fromEntries(
  Object.entries(samples).filter(([path]) => Buffer.byteLength(path) < 200),
);

function writeSamples(below: string, files: typeof samples): string {
  const folder = join(below, "samples");
  for (const [path, content] of Object.entries(files)) write(folder, path, content);
  chmodSync(join(folder, "empty.txt"), 0o755);
  mkdirSync(join(folder, "empty folder"));
  return folder;
}

/** Paths below a folder, each with its kind, whether it may be executed, and a digest of its content. */
function picture(of: string): string[] {
  return readdirSync(of, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const status = lstatSync(join(of, name));
      const content = status.isFile() ? readFileSync(join(of, name)) : "folder";
      return `${name} ${status.mode & 0o100} ${createHash("sha256").update(content).digest("hex")}`;
    })
    .sort();
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces));
}

async function* inPieces(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** Everything an archive holds, in a form to be compared. */
async function listArchive(archive: AsyncIterable<Uint8Array>): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, kind, mode, size, content } of readArchive(archive, { limits }))
    found.push(`${path} ${kind} ${mode.toString(8)} ${size} ${(await collect(content)).toString("hex")}`);
  return found;
}

describe("an archive of the system's tar", () => {
  test.for<[args: string[], files: typeof samples]>([
    [["--format=gnu"], samples],
    [["--format=pax"], samples],
    [["--format=ustar"], modestSamples],
    [["--format=pax", "--pax-option=globexthdr.name=g,comment=hello"], samples],
    [["--format=gnu", "--blocking-factor=2048"], samples],
  ])("made with %j comes out as it went in", async ([args, files], { folder }) => {
    const from = writeSamples(folder, files);
    const archive = execFileSync("tar", ["-c", "-C", from, ...args, "."], { maxBuffer: 2 ** 23 });
    const into = join(folder, "out");

    const unpacked = await unpackArchive(inPieces(archive), { into, limits, leaveOut: false });

    expect(picture(into)).toEqual(picture(from));
    expect(unpacked.files.toSorted()).toEqual(Object.keys(files).sort());
    expect(unpacked.bytes).toBe(
      Object.values(files).reduce((sum, content) => sum + Buffer.byteLength(content), 0),
    );
    expect(readdirSync(folder).sort()).toEqual(["out", "samples"]);
  });

  test("with sparse files of either kind is refused, or told to lack them", async ({ folder }) => {
    for (const format of ["gnu", "pax"]) {
      const from = join(folder, format);
      write(from, "holes", "begin");
      truncateSync(join(from, "holes"), 1_000_000);
      write(from, "later", "text");
      const args = ["-c", "-C", from, `--format=${format}`, "--sparse", "--sort=name", "."];
      const archive = execFileSync("tar", args);

      const into = join(folder, "out", format);
      mkdirSync(dirname(into), { recursive: true });
      const refused = unpackArchive(inPieces(archive), { into, limits, leaveOut: false });
      await expect(refused).rejects.toMatchObject({ details: { reason: "the entry is a sparse file" } });
      const unpacked = await unpackArchive(inPieces(archive), { into, limits, leaveOut: true });

      expect(unpacked).toMatchObject({ files: ["later"], leftOut: [{ path: "holes" }] });
    }
  });
});

describe("reading an archive", () => {
  test("gives the same however the bytes are cut", async () => {
    const archive = await collect(
      packFiles([
        { path: "a", mode: 0o755, ...owner, kind: "folder" },
        { path: `a/${"ü".repeat(90)}`, mode: 0o644, ...owner, kind: "file", content: Buffer.alloc(513, 1) },
        { path: "a/b", mode: 0o755, ...owner, kind: "file", content: Buffer.from("text") },
      ]),
    );
    const whole = await listArchive(inPieces(archive));
    expect(whole).toHaveLength(3);

    for (let cut = 0; cut <= archive.length; cut += 1)
      expect(await listArchive(inPieces(archive.subarray(0, cut), archive.subarray(cut)))).toEqual(whole);
    const bytewise = Array.from({ length: archive.length }, (_, at) => archive.subarray(at, at + 1));
    expect(await listArchive(inPieces(...bytewise))).toEqual(whole);
  });

  test("skips content that nobody read, and does not give it later", async () => {
    const file = (path: string): EntryToPack => ({
      ...{ path, mode: 0o644, ...owner },
      kind: "file",
      content: Buffer.alloc(2000, path),
    });
    const contents: AsyncIterable<Uint8Array>[] = [];
    const lengths: number[] = [];

    for await (const { path, content } of readArchive(packFiles(["a", "b", "c", "d"].map(file)), {
      limits,
    })) {
      contents.push(content);
      if (path === "b") for await (const { length } of content) lengths.push(length);
      if (path === "c") for await (const _ of content) break;
    }

    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(2000);
    const [a, b] = contents;
    await expect(collect(a ?? inPieces())).rejects.toThrow(
      "The content of a was requested after the reader had moved to the next entry",
    );
    expect(await collect(b ?? inPieces())).toHaveLength(0);
  });

  test("closes its source, whether it is read to the end, left or refused", async () => {
    const archive = await collect(packFiles([{ path: "a", mode: 0o755, ...owner, kind: "folder" }]));
    let closed = 0;
    async function* source(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
      try {
        yield bytes;
        yield new Uint8Array();
      } finally {
        closed += 1;
      }
    }

    for await (const _ of readArchive(source(archive), { limits }));
    for await (const _ of readArchive(source(archive), { limits })) break;
    await expect(listArchive(source(archive.subarray(0, 100)))).rejects.toMatchObject({
      code: "ARCHIVE_REFUSED",
    });

    expect(closed).toBe(3);
  });

  test("takes no more memory for 300 MiB, and pulls nothing before it is wanted", async () => {
    const size = 300 * 2 ** 20;
    const [header] = await Array.fromAsync(
      packFiles([{ path: "large", mode: 0o644, ...owner, kind: "file", content: Buffer.alloc(1) }]),
    );
    const large = Buffer.from(header ?? []);
    large.write(size.toString(8).padStart(11, "0"), 124);
    large.write("        ", 148);
    large.write(
      `${large
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
    );
    const pieceBytes = 64 * 1024;
    let pulled = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield large;
      // Not one and the same piece again and again: to keep that would cost nothing.
      for (; pulled < size; pulled += pieceBytes) yield Buffer.alloc(pieceBytes, 1);
      yield Buffer.alloc(1024);
    }
    const collectGarbage = garbageCollector();
    const before = process.memoryUsage().rss;
    let read = 0;
    let grown = 0;
    const readAhead: number[] = [];

    for await (const { content } of readArchive(source(), { limits: { ...limits, bytes: size } })) {
      for await (const piece of content) {
        read += piece.length;
        // Slowly, so that whoever wanted to could run ahead.
        await setImmediate();
        if (pulled >= read) readAhead.push(pulled);
        if (read % 2 ** 24 === 0) {
          collectGarbage();
          grown = Math.max(grown, process.memoryUsage().rss - before);
        }
      }
    }

    expect(read).toBe(size);
    expect(readAhead).toEqual([]);
    expect(grown).toBeLessThan(64 * 2 ** 20);
  });
});

/** Without it, what is measured is when the engine gets round to its garbage, and not what is kept. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

describe("unpacking an archive", () => {
  const archive = (): AsyncGenerator<Uint8Array> =>
    packFiles([{ path: "a", mode: 0o644, ...owner, kind: "file", content: Buffer.alloc(100_000, 1) }]);

  test("leaves alone what is there already", async ({ folder }) => {
    const into = dirname(write(folder, "out/mine", "precious"));
    symlinkSync("nowhere", join(folder, "link"));

    for (const place of [into, join(folder, "link")])
      await expect(unpackArchive(archive(), { into: place, limits, leaveOut: false })).rejects.toThrow(
        "exists",
      );

    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["link", "out", "out/mine"]);
  });

  test("stops with the reason of its signal, though the source says nothing more, and leaves nothing", async ({
    folder,
  }) => {
    const stop = new AbortController();
    const reason = new Error("enough");
    async function* stuck(): AsyncGenerator<Uint8Array> {
      for await (const piece of archive()) {
        yield piece.subarray(0, 600);
        if (piece.length > 512) break;
      }
      queueMicrotask(() => stop.abort(reason));
      await new Promise(() => undefined);
    }

    const options = { into: join(folder, "out"), limits, leaveOut: false };
    await expect(unpackArchive(stuck(), options, stop.signal)).rejects.toBe(reason);
    await expect(unpackArchive(archive(), options, stop.signal)).rejects.toBe(reason);

    expect(readdirSync(folder)).toEqual([]);
  });

  test("an error of the source comes out unchanged, and leaves nothing", async ({ folder }) => {
    const broken = new Error("connection lost");
    async function* source(): AsyncGenerator<Uint8Array> {
      for await (const piece of archive()) {
        yield piece.subarray(0, 600);
        if (piece.length > 512) throw broken;
      }
    }

    const unpacked = unpackArchive(source(), { into: join(folder, "out"), limits, leaveOut: false });

    await expect(unpacked).rejects.toBe(broken);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("packing files", () => {
  const packed = (folder: string): EntryToPack[] => [
    { path: "empty folder", mode: 0o755, ...owner, kind: "folder" },
    ...Object.entries(samples).map(
      ([path, content], nth): EntryToPack => ({
        ...{ path, mode: path === "empty.txt" ? 0o755 : 0o644, ...owner },
        ...(nth % 2 > 0
          ? { kind: "file", from: join(folder, path) }
          : { kind: "file", content: Buffer.from(content) }),
      }),
    ),
  ];

  test("gives what tar and our own reader unpack alike", async ({ folder }) => {
    const from = writeSamples(folder, samples);
    const archive = await collect(packFiles(packed(from)));

    const byTar = join(folder, "by-tar");
    mkdirSync(byTar);
    execFileSync("tar", ["-x", "-C", byTar], { input: archive });
    await unpackArchive(packFiles(packed(from)), { into: join(folder, "out"), limits, leaveOut: false });

    expect(picture(byTar)).toEqual(picture(from));
    expect(picture(join(folder, "out"))).toEqual(picture(from));
  });

  test("gives equal bytes for equal files, also when they come one by one", async ({ folder }) => {
    const from = writeSamples(folder, samples);
    async function* oneByOne(): AsyncGenerator<EntryToPack> {
      yield* packed(from);
    }

    const archives = [await collect(packFiles(packed(from))), await collect(packFiles(oneByOne()))];

    expect(archives[0]?.equals(archives[1] ?? Buffer.alloc(0))).toBe(true);
  });

  test("keeps owners and rights, also numbers too large for a plain header", async () => {
    const file = { mode: 0o640, kind: "file", content: Buffer.alloc(0) } as const;
    const archive = await collect(
      packFiles([
        { ...file, path: "small", uid: 1001, gid: 1002 },
        { ...file, path: "large", uid: 300_000, gid: 5 },
      ]),
    );

    const listed = execFileSync("tar", ["-tv", "--numeric-owner", "--utc"], {
      input: archive,
      encoding: "utf8",
    });

    expect(listed.replaceAll(/ +/g, " ").trim().split("\n")).toEqual([
      "-rw-r----- 1001/1002 0 1970-01-01 00:00 small",
      "-rw-r----- 300000/5 0 1970-01-01 00:00 large",
    ]);
  });

  const fromDisk = (from: string): EntryToPack => ({ path: "a", mode: 0o644, ...owner, kind: "file", from });

  test.for<[change: string, size: number]>([
    ["shrinks", 10],
    ["grows", 2_000_000],
  ])("a file that %s while it is read is refused", async ([_change, size], { folder }) => {
    const file = write(folder, "a", Buffer.alloc(1_000_000));
    let isChanged = false;

    const reading = (async () => {
      for await (const _ of packFiles([fromDisk(file)])) {
        if (!isChanged) truncateSync(file, size);
        isChanged = true;
      }
    })();

    await expect(reading).rejects.toMatchObject({ code: "ARCHIVE_REFUSED", details: { entry: file } });
    expect(isChanged).toBe(true);
  });

  test("links, FIFOs and folders in place of a file are refused, and none is waited for", async ({
    folder,
  }) => {
    symlinkSync(write(folder, "file", "text"), join(folder, "link"));
    execFileSync("mkfifo", [join(folder, "fifo")]);
    mkdirSync(join(folder, "folder"));

    for (const name of ["link", "fifo", "folder"])
      await expect(collect(packFiles([fromDisk(join(folder, name))]))).rejects.toMatchObject({
        code: "ARCHIVE_REFUSED",
      });
    await expect(collect(packFiles([fromDisk(join(folder, "missing"))]))).rejects.toMatchObject({
      code: "ENOENT",
    });
  });

  test("an error of the files comes out unchanged", async () => {
    const broken = new Error("no more files");
    async function* files(): AsyncGenerator<EntryToPack> {
      yield { path: "a", mode: 0o755, ...owner, kind: "folder" };
      throw broken;
    }

    await expect(collect(packFiles(files()))).rejects.toBe(broken);
  });

  test("reads no further than the archive is read, and closes everything when it is left", async ({
    folder,
  }) => {
    const file = write(folder, "large", "");
    truncateSync(file, 50_000_000);
    /** How far each of our descriptors of the file has come. */
    const positions = (): number[] =>
      readdirSync("/proc/self/fd")
        .filter(
          (fd) => statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })?.ino === statSync(file).ino,
        )
        .map((fd) => Number(/pos:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1]));
    let asked = 0;
    let isClosed = false;
    async function* files(): AsyncGenerator<EntryToPack> {
      try {
        for (; ; asked += 1) yield { ...fromDisk(file), path: `file-${asked}` };
      } finally {
        isClosed = true;
      }
    }

    const pieces = packFiles(files());
    for (let taken = 0; taken < 3; taken += 1) await pieces.next();
    for (let turn = 0; turn < 3000; turn += 1) await setImmediate();
    expect([asked, positions()]).toEqual([0, [expect.toSatisfy((position: number) => position < 1_000_000)]]);
    await pieces.return(undefined);

    expect([asked, positions(), isClosed]).toEqual([0, [], true]);
  });

  test("is left without harm before it begins, after its first piece and at its end", async ({ folder }) => {
    const files = packed(writeSamples(folder, samples));
    const { length } = await Array.fromAsync(packFiles(files));
    expect(length).toBeGreaterThan(20);

    for (let taken = 0; taken <= length; taken += 1) {
      const pieces = packFiles(files);
      for (let nth = 0; nth < taken; nth += 1) await pieces.next();
      expect(await pieces.return("left")).toEqual({ done: true, value: "left" });
    }
  });

  test("a large file is packed and read in pieces", async ({ folder }) => {
    const file = write(folder, "large", "");
    truncateSync(file, 20_000_000);
    let bytes = 0;

    for await (const { content } of readArchive(packFiles([fromDisk(file)]), {
      limits: { ...limits, bytes: 20_000_000 },
    }))
      for await (const piece of content) bytes += piece.length;

    expect(bytes).toBe(20_000_000);
  });
});
