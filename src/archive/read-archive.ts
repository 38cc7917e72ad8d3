import { type ArchiveBytes, archiveBytes } from "./archive-bytes.ts";
import { type EntryHeader, isPlainFile, paddingOf, readEntryHeader } from "./entry-headers.ts";
import { findOddity, parseEntryPath, pathClaims } from "./entry-path.ts";
import { refusal } from "./refusal.ts";
import { blockBytes, showName } from "./tar-header.ts";

/** How much one archive may hold. */
export interface ArchiveLimits {
  /** Files and folders, those included that the names of others imply. */
  readonly entries: number;
  /** The content of all files together. */
  readonly bytes: number;
  /** One name, with its folders. */
  readonly nameBytes: number;
}

export interface ArchiveEntry {
  /** Below the folder that the archive is of, without `./` before it or `/` behind it. */
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly mode: number;
  readonly size: number;
  /** To be read before the next entry is asked for; what was not read by then is skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface ReadArchiveOptions {
  readonly limits: ArchiveLimits;
  readonly onLeftOut?: ((entry: LeftOut) => void) | undefined;
}

const linksAndDevices: ReadonlyMap<string, string> = new Map([
  ["1", "a hard link"],
  ["2", "a symbolic link"],
  ["3", "a character device"],
  ["4", "a block device"],
  ["6", "a FIFO"],
]);

/**
 * The files and folders of a tar archive that may have been made to do harm, in order, each checked before it is given.
 * With `onLeftOut`, links, devices, FIFOs, sparse files and names that nobody can show are left out and told; without,
 * they refuse the archive.
 * Everything else that is no plain file or folder with a plain name below the archive's own folder always refuses it.
 */
export async function* readArchive(
  archive: AsyncIterable<Uint8Array>,
  { limits, onLeftOut }: ReadArchiveOptions,
): AsyncGenerator<ArchiveEntry> {
  const bytes = archiveBytes(archive);
  const claim = pathClaims(limits);
  let bytesLeft = limits.bytes;
  let path = "";
  let oddNames = 0;

  try {
    for (;;) {
      const header = await readEntryHeader(bytes, path);
      if (!header) return;
      const oddity = onLeftOut && findOddity(header.name);
      if (oddity && onLeftOut) {
        path = showName(header.name);
        judgeKind(header, path);
        spend(header.size);
        oddNames += 1;
        if (oddNames > limits.entries)
          throw refusal(path, `there are more than ${limits.entries} files and folders`);
        onLeftOut({ path, reason: oddity });
        if (header.type === "S" && header.isContinued) await skipSparseMap();
        await bytes.skip(header.size + paddingOf(header.size), path);
        continue;
      }
      path = parseEntryPath(header.name, limits);
      const kind = judgeKind(header, path);
      spend(header.size);
      claim(path, kind === "folder" ? "folder" : "leaf");

      if (path === "") continue;
      if (kind === "file" || kind === "folder") {
        const rest = { bytes: header.size, isOver: false };
        const { size } = header;
        yield { path, kind, mode: maskMode(kind, header.mode), size, content: contentOf(bytes, rest, path) };
        rest.isOver = true;
        await bytes.skip(rest.bytes + paddingOf(size), path);
        continue;
      }

      if (!onLeftOut) throw refusal(path, `it is ${kind.other}`);
      onLeftOut({ path, reason: `it is ${kind.other}` });
      if (header.type === "S" && header.isContinued) await skipSparseMap();
      await bytes.skip(header.size + paddingOf(header.size), path);
    }
  } finally {
    await bytes.close();
  }

  function spend(size: number): void {
    if (size > bytesLeft) throw refusal(path, `the content is more than ${limits.bytes} bytes`);
    bytesLeft -= size;
  }

  async function skipSparseMap(): Promise<void> {
    for (let isContinued = true; isContinued; ) {
      // It has no size of its own, so it counts as content, or it could go on for ever.
      spend(blockBytes);
      isContinued = (await bytes.read(blockBytes, path))[504] !== 0;
    }
  }
}

function judgeKind(header: EntryHeader, path: string): "file" | "folder" | { other: string } {
  if (path === "" && (header.isSparse || header.type !== "5")) throw refusal(path, "the name is empty");
  if (header.isSparse) return { other: "a sparse file" };
  const { type, size } = header;
  const other = linksAndDevices.get(type);
  const isFile = isPlainFile(header);
  if (!isFile && !other && type !== "5" && type !== "0")
    throw refusal(path, `it is of the unknown type ${JSON.stringify(type)}`);
  // Programs disagree on whether such content is there at all; then nobody knows where the next header is.
  if (!isFile && size > 0) throw refusal(path, `it is ${other ?? "a folder"}, but has content`);
  if (other) return { other };
  return isFile ? "file" : "folder";
}

/** Of all rights only the owner's to execute a file is taken over. */
function maskMode(kind: "file" | "folder", mode: number): number {
  return kind === "folder" || (mode & 0o100) !== 0 ? 0o755 : 0o644;
}

async function* contentOf(
  bytes: ArchiveBytes,
  rest: { bytes: number; isOver: boolean },
  path: string,
): AsyncGenerator<Uint8Array> {
  while (rest.bytes > 0) {
    if (rest.isOver) throw new Error(`The content of ${path} was asked for after the next entry`);
    const piece = await bytes.take(rest.bytes, path);
    rest.bytes -= piece.length;
    yield piece;
  }
}
