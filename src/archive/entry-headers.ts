import type { ArchiveByteReader } from "./archive-bytes.ts";
import { archiveRefusedError } from "./archive-refused.ts";
import {
  formatEntryName,
  isAllZeroBytes,
  parsePaxRecords,
  parseTarHeader,
  type TarHeader,
  tarBlockBytes,
} from "./tar-header.ts";

/** All header fields of one entry of a tar archive, combined from the entry's several header blocks. */
export interface EntryHeader extends TarHeader {
  readonly isSparse: boolean;
}

/**
 * Maximum number of bytes to keep of an extension header, such as a pax header. No honest archive needs a
 * longer one.
 */
const maxPreludeBytes = 64 * 1024;

/**
 * Maximum length in bytes of an entry's name, which deeply nested folders make long. Of a longer name than
 * `maxPreludeBytes`, the reader keeps only the beginning.
 */
const maxNameBytes = 1024 * 1024;

/**
 * Maximum number of padding bytes after the archive's end mark: more than `tar` writes at any usual blocking
 * factor.
 */
const maxTailBytes = 1024 * 1024;

/**
 * The types of headers that precede an entry's own header: GNU headers for a long name or a long link target,
 * and pax headers for one entry or for all entries.
 */
const preludes: ReadonlyMap<string, string> = new Map([
  ["L", "long name"],
  ["K", "long link name"],
  ["x", "pax header"],
  ["g", "global pax header"],
]);

/**
 * Reads all headers of the archive's next entry, up to the entry's content. Returns undefined at the
 * archive's end mark.
 */
export async function readEntryHeader(
  bytes: ArchiveByteReader,
  previous: string,
): Promise<EntryHeader | undefined> {
  const contentByPrelude = new Map<string, Uint8Array>();
  for (;;) {
    const header = parseTarHeader(await bytes.read(tarBlockBytes, previous));
    if (!header) {
      if (["L", "K", "x"].some((type) => contentByPrelude.has(type)))
        throw archiveRefusedError(
          previous,
          "the archive ends after an extended header, without the entry that the header describes",
        );
      await readEnd(bytes, previous);
      return undefined;
    }

    const what = preludes.get(header.type);
    if (!what) return joinHeaders(header, contentByPrelude);
    const shown = formatEntryName(header.name);
    // Refuse a second header of the same type. Otherwise an archive could consist of an endless series of
    // headers.
    if (contentByPrelude.has(header.type))
      throw archiveRefusedError(shown, `the entry has more than one ${what}`);
    const maxBytes = "LK".includes(header.type) ? maxNameBytes : maxPreludeBytes;
    if (header.size > maxBytes)
      throw archiveRefusedError(shown, `the entry's ${what} is longer than ${maxBytes} bytes`);
    const keptBytes = Math.min(header.size, maxPreludeBytes);
    contentByPrelude.set(header.type, await bytes.read(keptBytes, shown));
    await bytes.skip(header.size - keptBytes + paddingBytesAfter(header.size), shown);
  }
}

/**
 * Returns whether an entry is a plain file, which includes contiguous files (type 7). A name that ends with a
 * slash means a folder, because old programs mark folders only in this way.
 */
export function isRegularFileEntry({ type, name }: TarHeader): boolean {
  return (type === "0" || type === "7") && name.at(-1) !== 0x2f;
}

/** Returns the number of padding bytes between the content of an entry of this size and the next block. */
export function paddingBytesAfter(size: number): number {
  return (tarBlockBytes - (size % tarBlockBytes)) % tarBlockBytes;
}

function joinHeaders(header: TarHeader, contentByPrelude: ReadonlyMap<string, Uint8Array>): EntryHeader {
  const shown = formatEntryName(header.name);
  const none = new Uint8Array();
  const pax = parsePaxRecords(contentByPrelude.get("x") ?? none, shown);
  const paxOfAll = parsePaxRecords(contentByPrelude.get("g") ?? none, shown);
  // A path or size that applies to all following entries has no honest use.
  if (paxOfAll.path || paxOfAll.size !== undefined || paxOfAll.isSparse)
    throw archiveRefusedError(shown, "a global pax header sets a path or a size");

  const longName = contentByPrelude.get("L");
  return {
    ...header,
    name: pax.path ?? (longName ? withoutEnd(longName) : header.name),
    size: pax.size ?? header.size,
    isSparse: header.type === "S" || (pax.isSparse && isRegularFileEntry(header)),
  };
}

function withoutEnd(longName: Uint8Array): Uint8Array {
  return longName.subarray(0, longName.findLastIndex((byte) => byte !== 0) + 1);
}

/** Checks that the archive ends as tar requires: with two blocks of zeros, and then only zeros as padding. */
async function readEnd(bytes: ArchiveByteReader, previous: string): Promise<void> {
  if (!isAllZeroBytes(await bytes.read(tarBlockBytes, previous)))
    throw archiveRefusedError(previous, "the archive has one block of zeros after the entry instead of two");

  let left = maxTailBytes;
  for (let piece = await bytes.next(left); piece; piece = await bytes.next(left)) {
    left -= piece.length;
    if (left <= 0 || !isAllZeroBytes(piece))
      throw archiveRefusedError(previous, "data follows the end of the archive");
  }
}
