import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { ArchiveLimits } from "../../../src/archive/read-archive.ts";
import { type UnpackResult, unpackArchive } from "../../../src/archive/unpack-archive.ts";
import { isError } from "../../../src/errors/errors.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

/** Room for twenty, of which two and four bytes are taken by what comes before an attack. */
const limits: ArchiveLimits = { entries: 20, bytes: 10_000, nameBytes: 1024 };

interface HeaderFields {
  readonly name?: string | Uint8Array;
  readonly prefix?: string;
  readonly type?: string;
  readonly mode?: string;
  readonly size?: number | Uint8Array | string;
  readonly link?: string;
  readonly magic?: string;
  readonly checksum?: string;
  /** Whether GNU's map of a sparse file goes on in the next block. */
  readonly isContinued?: boolean;
}

/** A header block with whatever is wanted in its fields, and a checksum that fits. */
function header(fields: HeaderFields): Buffer {
  const { name = "file", type = "0", mode = "0000644", size = 0, magic = "ustar\u000000" } = fields;
  const block = Buffer.alloc(512);
  block.set(Buffer.from(name).subarray(0, 100), 0);
  block.write(`${mode}\0`, 100);
  block.write("0000000\u00000000000\0", 108);
  block.set(
    typeof size === "number" ? Buffer.from(size.toString(8).padStart(11, "0")) : Buffer.from(size),
    124,
  );
  block.write("00000000000\0        ", 136);
  block.write(type, 156, "latin1");
  block.write(fields.link ?? "", 157);
  block.write(magic, 257);
  block.write(fields.prefix ?? "", 345);
  if (fields.isContinued) block[482] = 1;
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(fields.checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** A header with its content, of a size that is true unless another is told. */
function part(fields: HeaderFields, content: string | Uint8Array = ""): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([
    header({ size: bytes.length, ...fields }),
    bytes,
    Buffer.alloc((512 - (bytes.length % 512)) % 512),
  ]);
}

function paxRecord(key: string, value: string): string {
  const tail = ` ${key}=${value}\n`;
  const lengthWith = (digits: number): number => digits + Buffer.byteLength(tail);
  const digits = [1, 2, 3, 4, 5, 6].find((count) => String(lengthWith(count)).length === count) ?? 0;
  return `${lengthWith(digits)}${tail}`;
}

const pax = (records: string, type = "x"): Buffer => part({ name: "PaxHeader", type }, records);
const longName = (name: string | Uint8Array): Buffer =>
  part(
    { name: "././@LongLink", type: "L", magic: "ustar  \0" },
    Buffer.concat([Buffer.from(name), Buffer.alloc(1)]),
  );
const folder = (name: string): Buffer => part({ name, type: "5", mode: "0000755" });
const end = Buffer.alloc(1024);
const plain = (name: string | Uint8Array): Buffer[] => [part({ name }, "planted"), end];

/** Comes before every attack, so that there is something to take back. */
const good = part({ name: "good/file" }, "good");

function throughLink(to: string): Buffer[] {
  return [part({ name: "out", type: "2", link: to }), ...plain("out/planted")];
}

/** As a block of a sparse file's map, says that another one follows; as a header, begins such a map. */
function endlessMap(_: unknown, nth: number): Buffer {
  if (nth === 0) return header({ name: "a", type: "S", magic: "ustar  \0", isContinued: true });
  return Buffer.alloc(512, 1);
}

async function* inPieces(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

function rightsOf(file: string): string {
  return (lstatSync(file).mode & 0o7777).toString(8);
}

/** Everything below a folder: kinds, rights and contents. */
function picture(of: string): string[] {
  return readdirSync(of, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const status = lstatSync(join(of, name));
      return `${name} ${status.mode.toString(8)} ${status.isFile() ? readFileSync(join(of, name), "latin1") : ""}`;
    })
    .sort();
}

/** `place` is where archives are unpacked; `outside` is what they are after. */
function ground(below: string): { place: string; outside: string; into: string } {
  const place = join(below, "place");
  mkdirSync(place);
  write(below, "outside/victim", "precious");
  return { place, outside: join(below, "outside"), into: join(place, "out") };
}

const attacks: [name: string, archive: (outside: string) => Uint8Array[], reason: RegExp][] = [
  ["an absolute path", (outside) => plain(`${outside}/planted`), /absolute/],
  ["an absolute path behind a `./`", () => plain(".//etc/planted"), /absolute/],
  [
    "an absolute path by way of the prefix",
    () => [part({ prefix: "/tmp", name: "planted" }), end],
    /absolute/,
  ],
  ["a Windows drive", () => plain("C:\\planted"), /absolute/],
  ["a Windows drive with a slash", () => plain("c:/planted"), /absolute/],
  ["a Windows share", () => plain("\\\\host\\planted"), /absolute/],
  ["`..` first", () => plain("../planted"), /`\.\.` component/],
  ["`..` in the middle", () => plain("a/../planted"), /`\.\.` component/],
  ["`..` last", () => [folder("a/.."), end], /`\.\.` component/],
  ["`..` alone", () => [folder(".."), end], /`\.\.` component/],
  ["`..` twice behind a folder", () => plain("a/../../outside/planted"), /`\.\.` component/],
  ["`..` behind a `./`", () => plain("./../planted"), /`\.\.` component/],
  ["`..` in the prefix", () => [part({ prefix: "..", name: "planted" }), end], /`\.\.` component/],
  ["`..` in a GNU long name", () => [longName("a/../../planted"), ...plain("short")], /`\.\.` component/],
  ["`..` in a pax path", () => [pax(paxRecord("path", "../planted")), ...plain("short")], /`\.\.` component/],
  [
    "a pax path that is absolute",
    (outside) => [pax(paxRecord("path", `${outside}/planted`)), ...plain("short")],
    /absolute/,
  ],
  ["a global pax path", () => [pax(paxRecord("path", "planted"), "g"), ...plain("short")], /global/],
  ["a global pax size", () => [pax(paxRecord("size", "0"), "g"), ...plain("short")], /global/],
  ["a `.` inside", () => plain("a/./planted"), /empty or `\.` component/],
  ["two slashes", () => plain("a//planted"), /empty or `\.` component/],
  ["two slashes at the end", () => [folder("a//"), end], /empty or `\.` component/],
  ["an empty name", () => plain(""), /empty/],
  ["an empty pax path", () => [pax(paxRecord("path", "")), ...plain("short")], /empty/],
  ["a file in place of the root", () => plain("."), /empty/],
  ["a newline in the name", () => plain("a\nb"), /control character/],
  ["a tab in the name", () => plain("a\tb"), /control character/],
  ["an escape sequence in the name", () => plain("a\u001b[2Jb"), /control character/],
  ["an eight-bit escape sequence in the name", () => plain("a\u009b2Jb"), /control character/],
  ["a turned writing direction in the name", () => plain("a\u202etxt.exe"), /control character/],
  ["text behind the end of the name", () => plain("a\0b"), /NUL/],
  ["a NUL in a GNU long name", () => [longName("a\0b"), ...plain("short")], /NUL/],
  ["a NUL in a pax path", () => [pax(paxRecord("path", "a\0b")), ...plain("short")], /NUL/],
  ["a name that is not UTF-8", () => plain(Buffer.from("a\u00ff", "latin1")), /not UTF-8/],
  ["an overlong `/` in UTF-8", () => plain(Buffer.from("2e2ec0af61", "hex")), /not UTF-8/],
  [
    "a part of a name over 255 bytes",
    () => [longName("é".repeat(128)), ...plain("short")],
    /longer than 255/,
  ],
  ["a name over the limit", () => [longName("abcdefg/".repeat(129)), ...plain("short")], /longer than 1024/],
  [
    "a symbolic link out",
    (outside) => [part({ name: "out", type: "2", link: outside }), end],
    /a symbolic link/,
  ],
  ["a hard link", () => [part({ name: "out", type: "1", link: "/etc/passwd" }), end], /a hard link/],
  ["a character device", () => [part({ name: "null", type: "3" }), end], /a character device/],
  ["a block device", () => [part({ name: "disk", type: "4" }), end], /a block device/],
  ["a FIFO", () => [part({ name: "pipe", type: "6" }), end], /a FIFO/],
  ["a sparse file", () => [part({ type: "S", magic: "ustar  \0" }), end], /a sparse file/],
  [
    "a sparse file in pax",
    () => [pax(paxRecord("GNU.sparse.major", "1")), ...plain("file")],
    /a sparse file/,
  ],
  ["an unknown type", () => [part({ type: "Z" }), end], /unknown type "Z"/],
  ["a volume label", () => [part({ type: "V", magic: "ustar  \0" }), end], /unknown type "V"/],
  ["a type that is no letter", () => [part({ type: "\u00ff" }), end], /unknown type/],
  ["a folder with content", () => [part({ name: "a", type: "5" }, "text"), end], /has content/],
  ["a file of old with a folder's name and content", () => plain("a/"), /has content/],
  [
    "a file as the parent of another",
    () => [part({ name: "a" }), part({ name: "a/b" }), end],
    /not a folder/,
  ],
  ["one name twice", () => [part({ name: "a" }), part({ name: "./a" }), end], /contains the name twice/],
  [
    "a file, then a folder of its name",
    () => [part({ name: "a" }), folder("a/"), end],
    /contains the name twice/,
  ],
  [
    "a file in place of a folder",
    () => [part({ name: "a/b" }), part({ name: "a" }), end],
    /contains the name twice/,
  ],
  ["the root twice", () => [folder("./"), folder("."), end], /contains the name twice/],
  [
    "too many entries",
    () => [...Array.from({ length: 19 }, (_, nth) => part({ name: `f${nth}` })), end],
    /more than 20/,
  ],
  ["too many folders in one name", () => plain("d/".repeat(18).concat("f")), /more than 20/],
  ["more bytes than the limit", () => [header({ size: 9997 })], /larger than 10000 bytes/],
  [
    "more bytes than the limit in all",
    () => [part({ name: "a" }, "x".repeat(6000)), header({ name: "b", size: 6000 })],
    /larger than 10000 bytes/,
  ],
  [
    "a pax size above the limit",
    () => [pax(paxRecord("size", "9997")), ...plain("a")],
    /larger than 10000 bytes/,
  ],
  [
    "a pax size beyond what a number can hold",
    () => [pax(paxRecord("size", "9".repeat(20))), ...plain("a")],
    /out of range/,
  ],
  ["a negative pax size", () => [pax(paxRecord("size", "-1")), ...plain("a")], /negative/],
  ["a pax size that is no number", () => [pax(paxRecord("size", "0x10")), ...plain("a")], /not a number/],
  [
    "a pax size that lies low",
    () => [pax(paxRecord("size", "3")), part({ name: "a" }, "x".repeat(600)), end],
    /checksum/,
  ],
  ["a pax size that lies high", () => [pax(paxRecord("size", "9000")), ...plain("a")], /is truncated/],
  ["two sizes in one pax header", () => [pax(paxRecord("size", "7").repeat(2)), ...plain("a")], /twice/],
  ["a negative size in base 256", () => [header({ size: Buffer.alloc(12, 0xff) }), end], /negative/],
  [
    "a huge size in base 256",
    () => [header({ size: Buffer.concat([Buffer.from([0x80]), Buffer.alloc(11, 0x7f)]) }), end],
    /out of range/,
  ],
  ["a size that is no number", () => [header({ size: "-0000000001" }), end], /not a number/],
  ["a size with a hidden part", () => [header({ size: "0007\u0000 99999" }), end], /not a number/],
  [
    "a giant pax header",
    () => [header({ type: "x", size: 65_537 }), Buffer.alloc(70_000)],
    /pax header is longer/,
  ],
  ["a giant long name", () => [header({ type: "L", size: 2 ** 33 - 1 })], /long name is longer/],
  ["a giant long link name", () => [header({ type: "K", size: 2 ** 20 + 1 })], /long link name is longer/],
  [
    "headers without an end",
    () => Array.from({ length: 50 }, () => pax(paxRecord("comment", "x"))),
    /more than one pax header/,
  ],
  ["a header that belongs to nothing", () => [longName("a"), end], /ends after an extended header/],
  ["a character set in pax", () => [pax(paxRecord("hdrcharset", "BINARY")), ...plain("a")], /character set/],
  ["a pax record without a line end", () => [pax("9 path=ab"), ...plain("a")], /malformed/],
  ["a pax record that reaches too far", () => [pax("99 path=a\n"), ...plain("a")], /malformed/],
  ["a pax record of length 0", () => [pax("0 path=a\n"), ...plain("a")], /malformed/],
  ["a pax record without a key", () => [pax("6 =ab\n"), ...plain("a")], /malformed/],
  ["a pax record without a value", () => [pax("5 ab\n9 path=a\n"), ...plain("a")], /malformed/],
  ["a wrong checksum", () => [header({ checksum: "000001\0 " }), end], /checksum is wrong/],
  ["no checksum", () => [header({ checksum: "\0".repeat(8) }), end], /checksum is not a number/],
  ["a header of no known format", () => [part({ magic: "rustar\0\0" }), end], /format is not supported/],
  ["nothing at all", () => [], /is truncated/],
  ["an end in the middle of a header", () => [header({}).subarray(0, 300)], /is truncated/],
  ["an end in the middle of content", () => [header({ size: 900 }), Buffer.alloc(600, 1)], /is truncated/],
  ["an end in the middle of padding", () => [header({ size: 900 }), Buffer.alloc(1000, 1)], /is truncated/],
  ["no end", () => [part({ name: "a" }, "text")], /is truncated/],
  ["half an end", () => [part({ name: "a" }), Buffer.alloc(512)], /is truncated/],
  [
    "a block of zeros between entries",
    () => [part({ name: "a" }), Buffer.alloc(512), ...plain("b")],
    /one block of zeros after the entry/,
  ],
  ["a second archive behind the end", () => [...plain("a"), ...plain("../planted")], /follows the end/],
  ["zeros without end", () => [end, Buffer.alloc(2 ** 20)], /follows the end/],
];

describe("an archive made to do harm is refused whole, and nothing of it stays:", () => {
  for (const [name, archive, reason] of attacks)
    test(name, async ({ folder: below }) => {
      const { place, outside, into } = ground(below);
      const before = picture(below);
      const attack = archive(outside);

      const error = await unpackArchive(inPieces(attack.length > 0 ? [good, ...attack] : []), {
        into,
        limits,
        leaveOut: false,
      }).catch((thrown: unknown) => thrown);

      expect(isError(error, "ARCHIVE_REFUSED") && error.details.reason).toMatch(reason);
      expect(picture(below)).toEqual(before);
      expect(readdirSync(place)).toEqual([]);
    });

  test("a file through a link that was left out", async ({ folder: below }) => {
    const { outside, into } = ground(below);
    const before = picture(below);

    const unpacked = unpackArchive(inPieces(throughLink(outside)), { into, limits, leaveOut: true });

    await expect(unpacked).rejects.toMatchObject({
      code: "ARCHIVE_REFUSED",
      details: { entry: "out/planted", reason: "the parent of the entry is not a folder" },
    });
    expect(picture(below)).toEqual(before);
  });

  test("a link that is left out takes no file of its folder along", async ({ folder: below }) => {
    const { into } = ground(below);
    const archive = [part({ name: "a/b/link", type: "2", link: "x" }), ...plain("a/b/file")];

    const { files, leftOut } = await unpackArchive(inPieces(archive), { into, limits, leaveOut: true });

    expect(files).toEqual(["a/b/file"]);
    expect(leftOut).toMatchObject([{ kind: "barred", path: "a/b/link" }]);
  });

  test("and its name is cut in what is told of it", async ({ folder: below }) => {
    const name = `../${"😀".repeat(250)}`;

    const unpacked = unpackArchive(inPieces([longName(name), ...plain("short")]), {
      into: join(below, "out"),
      limits,
      leaveOut: true,
    });

    await expect(unpacked).rejects.toMatchObject({
      details: { entry: expect.toSatisfy((entry: string) => entry.length === 200 && entry.isWellFormed()) },
    });
  });

  test("control: an unguarded `tar` lets an absolute path, `..` and a link through", ({ folder: below }) => {
    const { outside, place } = ground(below);
    const planted = {
      absolute: plain(`${outside}/by-path`),
      dots: plain("../outside/by-dots"),
      link: throughLink(outside),
    };

    for (const [name, archive] of Object.entries(planted)) {
      const file = write(below, `${name}.tar`, Buffer.concat(archive));
      execFileSync("tar", ["-xPf", file], { cwd: place });
    }

    expect(readdirSync(outside).sort()).toEqual(["by-dots", "by-path", "planted", "victim"]);
  });
});

describe("an archive with something odd in it that does no harm", () => {
  test.for<[what: string, mode: string, unpacked: string]>([
    ["a file of the set-user-id", "0004755", "755"],
    ["a file of the set-group-id", "0002644", "644"],
    ["a sticky file that all may write", "0001666", "644"],
    ["a file that nobody may read", "0000000", "644"],
    ["a file that only others may execute", "0000011", "644"],
  ])("%s has only plain rights", async ([_what, mode, expected], { folder: below }) => {
    const into = join(below, "out");

    await unpackArchive(inPieces([part({ name: "a", mode }), end]), { into, limits, leaveOut: false });

    expect(rightsOf(join(into, "a"))).toBe(expected);
  });

  test("folders have plain rights, told or implied, whatever the umask", async ({ folder: below }) => {
    const into = join(below, "out");
    const umask = process.umask(0o077);

    try {
      const archive = [part({ name: "told/", type: "5", mode: "0007777" }), ...plain("implied/a")];
      await unpackArchive(inPieces(archive), { into, limits, leaveOut: false });
    } finally {
      process.umask(umask);
    }

    expect(["", "told", "implied"].map((name) => rightsOf(join(into, name)))).toEqual(["755", "755", "755"]);
  });

  test("links, devices, FIFOs and sparse files are left out and told where that is wanted", async ({
    folder: below,
  }) => {
    const sparse = header({ name: "old", type: "S", magic: "ustar  \0", size: 600, isContinued: true });
    const map = [Buffer.alloc(512), Buffer.alloc(512)];
    map[0]?.fill(1, 504, 505);

    const unpacked = await unpackArchive(
      inPieces([
        part({ name: "a" }, "content"),
        part({ name: "symbolic", type: "2", link: "/etc/passwd" }),
        part({ name: "hard", type: "1", link: "a" }),
        part({ name: "dir/character", type: "3" }),
        part({ name: "block", type: "4" }),
        part({ name: "pipe", type: "6" }),
        ...[sparse, ...map, Buffer.alloc(1024, 1)],
        pax(paxRecord("GNU.sparse.name", "new") + paxRecord("path", "GNUSparseFile.1/new")),
        part({ name: "GNUSparseFile.1/new" }, "1\n0\n512\n"),
        part({ name: "z" }, "last"),
        end,
      ]),
      { into: join(below, "out"), limits, leaveOut: true },
    );

    expect(unpacked).toEqual<UnpackResult>({
      files: ["a", "z"],
      bytes: 11,
      leftOut: [
        { kind: "barred", path: "symbolic", reason: "the entry is a symbolic link" },
        { kind: "barred", path: "hard", reason: "the entry is a hard link" },
        { kind: "barred", path: "dir/character", reason: "the entry is a character device" },
        { kind: "barred", path: "block", reason: "the entry is a block device" },
        { kind: "barred", path: "pipe", reason: "the entry is a FIFO" },
        { kind: "barred", path: "old", reason: "the entry is a sparse file" },
        { kind: "barred", path: "new", reason: "the entry is a sparse file" },
      ],
      more: { files: 0, barred: 0, missed: 0 },
    });
    expect(readdirSync(join(below, "out"), { recursive: true }).sort()).toEqual(["a", "z"]);
  });

  test("names that nobody can show are left out one by one, and cost no other file", async ({
    folder: below,
  }) => {
    const unpacked = await unpackArchive(
      inPieces([
        part({ name: "a" }, "first"),
        part({ name: "bell\u0007" }, "x"),
        part({ name: "folder\n/", type: "5" }),
        part({ name: "folder\n/../../out" }, "x"),
        part({ name: Buffer.from([0x61, 0xff]) }, "x"),
        part({ name: "z" }, "last"),
        end,
      ]),
      { into: join(below, "out"), limits, leaveOut: true },
    );

    expect(unpacked.files).toEqual(["a", "z"]);
    expect(unpacked.leftOut).toHaveLength(4);
    expect(readdirSync(below, { recursive: true }).sort()).toEqual(["out", "out/a", "out/z"]);
  });

  test.for<[what: string, entry: Uint8Array, reason: RegExp]>([
    ["a link with content that nobody can place", part({ name: "a", type: "2" }, "content"), /has content/],
    [
      "a map of a sparse file without end",
      Buffer.concat(Array.from({ length: 40 }, endlessMap)),
      /larger than 10000 bytes/,
    ],
  ])("%s is refused all the same", async ([_what, entry, reason], { folder }) => {
    const into = join(folder, "out");

    const unpacked = unpackArchive(inPieces([entry, end]), { into, limits, leaveOut: true });

    await expect(unpacked).rejects.toMatchObject({
      code: "ARCHIVE_REFUSED",
      details: { reason: expect.stringMatching(reason) },
    });
  });

  test("an archive in a file of an archive is only content, whichever header tells its size", async ({
    folder: below,
  }) => {
    const inner = Buffer.concat(plain("../planted"));
    const archive = [pax(paxRecord("size", String(inner.length))), header({ name: "a.tar", size: 0 }), inner];

    const { files } = await unpackArchive(inPieces([...archive, end]), {
      into: join(below, "out"),
      limits,
      leaveOut: false,
    });

    expect(files).toEqual(["a.tar"]);
    expect(readFileSync(join(below, "out/a.tar")).equals(inner)).toBe(true);
  });
});
