import { archiveRefusedError } from "./archive-refused.ts";

/** Size of a tar block in bytes. Each header, and each entry's content, begins at a multiple of this size. */
export const tarBlockBytes = 512;

/** The fields of one header block of a tar archive. */
export interface TarHeader {
  readonly name: Uint8Array;
  /** The type of the entry: one character, for example `0` for a file. */
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  /** Whether the list of a sparse file's data regions continues in more blocks (GNU format only). */
  readonly isContinued: boolean;
}

/** The values that this reader uses from an entry's pax header. */
export interface PaxRecords {
  readonly path?: Uint8Array;
  readonly size?: number;
  readonly isSparse: boolean;
}

const dialects: ReadonlyMap<string, "ustar" | "gnu"> = new Map([
  ["ustar\u000000", "ustar"],
  ["ustar  \u0000", "gnu"],
]);

/** The pax key with the real name of a sparse file. The key `path` of a sparse file has a made-up name. */
const sparseName = "GNU.sparse.name";

const checksumField = { from: 148, to: 156 };

/** Parses a tar header block. Returns undefined for a block of zeros, which marks the archive's end. */
export function parseTarHeader(block: Uint8Array): TarHeader | undefined {
  if (isAllZeroBytes(block)) return undefined;

  const shown = formatEntryName(upToNul(block.subarray(0, 100)).text);
  const numberAt = (what: string, from: number, to: number): number =>
    parseNumber(block.subarray(from, to), what, shown);
  if (numberAt("checksum", checksumField.from, checksumField.to) !== checksumOf(block))
    throw archiveRefusedError(shown, "the header's checksum is wrong");
  const dialect = dialects.get(latin1(block.subarray(257, 265)));
  if (!dialect) throw archiveRefusedError(shown, "the header's format is not supported");

  return {
    name: nameOf(block, dialect, shown),
    // Formats before POSIX mark a file with NUL instead of `0`.
    type: latin1(block.subarray(156, 157)).replace("\u0000", "0"),
    mode: numberAt("mode", 100, 108),
    size: numberAt("size", 124, 136),
    isContinued: dialect === "gnu" && block[482] !== 0,
  };
}

/** Parses the content of a pax header, a sequence of records of the form `<length> <key>=<value>\n`. */
export function parsePaxRecords(content: Uint8Array, entry: string): PaxRecords {
  const honoured = new Map<string, Uint8Array>();
  let isSparse = false;
  for (let start = 0; start < content.length; ) {
    const { key, value, end } = parseRecord(content, start, entry);
    if (key === "hdrcharset") throw archiveRefusedError(entry, "the pax header sets a character set");
    if (key === "path" || key === "size" || key === sparseName) {
      if (honoured.has(key)) throw archiveRefusedError(entry, `the pax header sets the ${key} twice`);
      honoured.set(key, value);
    }
    if (key.startsWith("GNU.sparse.")) isSparse = true;
    start = end;
  }

  const path = honoured.get(sparseName) ?? honoured.get("path");
  const size = honoured.get("size");
  return {
    ...(path && { path }),
    ...(size && { size: checkedNumber(decimal(latin1(size)), "size", entry) }),
    isSparse,
  };
}

/** Maximum number of bytes of an entry's name to decode. No error message shows more bytes. */
const maxShownBytes = 800;

/**
 * Decodes an entry's name for error messages. First cuts the name, which may have any length and be invalid
 * UTF-8.
 */
export function formatEntryName(name: Uint8Array): string {
  return Buffer.from(name.subarray(0, maxShownBytes)).toString("utf8");
}

export function isAllZeroBytes(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

function checksumOf(block: Uint8Array): number {
  // For the checksum, the bytes of the checksum field itself count as spaces.
  return block.reduce(
    (sum, byte, at) => sum + (at >= checksumField.from && at < checksumField.to ? 0x20 : byte),
    0,
  );
}

/**
 * Joins the fields `prefix` and `name` of a header block. In GNU's format, ignores the field `prefix`, which
 * has another use there.
 */
function nameOf(block: Uint8Array, dialect: "ustar" | "gnu", shown: string): Uint8Array {
  const name = upToNul(block.subarray(0, 100));
  const prefix = upToNul(dialect === "ustar" ? block.subarray(345, 500) : new Uint8Array());
  if (!isAllZeroBytes(name.rest) || !isAllZeroBytes(prefix.rest))
    throw archiveRefusedError(shown, "the name contains a NUL character");
  return prefix.text.length > 0 ? Buffer.concat([prefix.text, Buffer.from("/"), name.text]) : name.text;
}

function upToNul(field: Uint8Array): { text: Uint8Array; rest: Uint8Array } {
  const end = field.indexOf(0);
  const length = end < 0 ? field.length : end;
  return { text: field.subarray(0, length), rest: field.subarray(length) };
}

function parseNumber(field: Uint8Array, what: string, entry: string): number {
  const isBase256 = ((field[0] ?? 0) & 0x80) !== 0;
  return checkedNumber(isBase256 ? base256(field) : octal(latin1(field)), what, entry);
}

function octal(text: string): bigint | undefined {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(text) ?? [];
  return digits === undefined ? undefined : BigInt(`0o${digits}`);
}

/**
 * Parses a number in GNU's binary encoding. The field's first bit marks the encoding; the other bits are a
 * number in two's complement.
 */
function base256(field: Uint8Array): bigint {
  const bits = 8 * field.length - 1;
  return BigInt.asIntN(bits, BigInt(`0x${Buffer.from(field).toString("hex")}`));
}

function decimal(text: string): bigint | undefined {
  return /^-?\d{1,30}$/.test(text) ? BigInt(text) : undefined;
}

function checkedNumber(number: bigint | undefined, what: string, entry: string): number {
  if (number === undefined) throw archiveRefusedError(entry, `the header's ${what} is not a number`);
  if (number < 0n) throw archiveRefusedError(entry, `the header's ${what} is negative`);
  if (number > Number.MAX_SAFE_INTEGER)
    throw archiveRefusedError(entry, `the header's ${what} is out of range`);
  return Number(number);
}

function parseRecord(content: Uint8Array, start: number, entry: string) {
  const space = content.indexOf(0x20, start);
  const digits = latin1(content.subarray(start, Math.max(space, start)));
  const end = /^[1-9]\d{0,8}$/.test(digits) ? start + Number(digits) : Number.POSITIVE_INFINITY;
  const equals = content.indexOf(0x3d, space + 1);
  const isWhole = end <= content.length && content[end - 1] === 0x0a;
  if (!isWhole || equals <= space + 1 || equals >= end)
    throw archiveRefusedError(entry, "the pax header is malformed");
  return {
    key: latin1(content.subarray(space + 1, equals)),
    value: content.subarray(equals + 1, end - 1),
    end,
  };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
