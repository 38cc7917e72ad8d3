import { ArchiveByteReader } from "./archive-bytes.ts";
import { archiveRefusedError } from "./archive-refused.ts";
import { type EntryHeader, isRegularFileEntry, paddingBytesAfter, readEntryHeader } from "./entry-headers.ts";
import {
  createPathRegistry,
  findPathLengthProblem,
  findUnprintableNameReason,
  parseEntryPath,
} from "./entry-path.ts";
import { formatEntryName, tarBlockBytes } from "./tar-header.ts";

/** The limits for one tar archive. */
export interface ArchiveLimits {
  /**
   * Maximum number of files and folders, including folders that have no entry of their own and occur only in
   * other paths.
   */
  readonly entries: number;
  /** Maximum total size in bytes of the content of all files. */
  readonly bytes: number;
  /** Maximum length in bytes of an entry's path. */
  readonly nameBytes: number;
}

export interface ArchiveEntry {
  /**
   * The path of the entry relative to the archive's root folder, without a leading `./` or a trailing `/`.
   */
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly mode: number;
  readonly size: number;
  /**
   * The folders that the caller must create for this entry, the outermost first. If the entry is a folder,
   * the list may end with the entry itself.
   */
  readonly newFolders: readonly string[];
  /**
   * The content of the entry. The caller must read it before requesting the next entry; the reader skips what
   * is left unread.
   */
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * An entry that the archive reader left out: `barred` if such entries may never leave a container, `missed`
 * if the entry exceeds a limit.
 */
export interface LeftOutEntry {
  readonly kind: "barred" | "missed";
  /** The path of the entry, shortened if it is long. */
  readonly path: string;
  readonly reason: string;
}

export interface ReadArchiveOptions {
  readonly limits: ArchiveLimits;
  /**
   * Called for each entry that the reader leaves out: a link, a device, a FIFO, a sparse file, an entry whose
   * name cannot be shown, or an entry that exceeds a limit. Without this callback, the reader refuses any
   * archive that contains such an entry.
   */
  readonly onLeftOut?: ((entry: LeftOutEntry) => void) | undefined;
}

const linksAndDevices: ReadonlyMap<string, string> = new Map([
  ["1", "a hard link"],
  ["2", "a symbolic link"],
  ["3", "a character device"],
  ["4", "a block device"],
  ["6", "a FIFO"],
]);

/** Maximum total size of the content of left-out entries, as a multiple of `limits.bytes`. */
const passedOverShare = 2;

/**
 * Yields the files and folders of an untrusted tar archive in order, each after checking its header. Throws
 * ARCHIVE_REFUSED at an invalid entry, and, without `onLeftOut`, also at an entry that should be left out.
 */
export async function* readArchive(
  archive: AsyncIterable<Uint8Array>,
  { limits, onLeftOut }: ReadArchiveOptions,
): AsyncGenerator<ArchiveEntry> {
  const bytes = new ArchiveByteReader(archive);
  const claim = createPathRegistry(limits);
  let bytesLeft = limits.bytes;
  let passedOverLeft = passedOverShare * limits.bytes;
  let unnamedCount = 0;
  const unannounced = new UnannouncedFolders();
  let path = "";

  try {
    for (;;) {
      const header = await readEntryHeader(bytes, path);
      if (!header) return;
      path = formatEntryName(header.name);
      const verdict = judge(header);
      if (verdict === null) continue;
      if ("newFolders" in verdict) {
        const { size } = header;
        const rest = { bytes: size, isOver: false };
        const newFolders = [...unannounced.announce(path), ...verdict.newFolders];
        const mode = maskMode(verdict.kind, header.mode);
        yield { ...verdict, path, newFolders, mode, size, content: contentOf(bytes, rest, path) };
        rest.isOver = true;
        await bytes.skip(rest.bytes + paddingBytesAfter(size), path);
        continue;
      }

      const { kind, reason } = verdict;
      if (!onLeftOut) throw archiveRefusedError(path, reason);
      const isLast = kind === "last" || header.size > passedOverLeft;
      const shown = formatEntryName(Buffer.from(path.replace(/^\.\//, "")));
      onLeftOut(
        isLast
          ? { kind: "missed", path: shown, reason: `${reason}; swarm left out all later entries` }
          : { kind, path: shown, reason },
      );
      if (isLast) return;
      passedOverLeft -= header.size;
      if (header.type === "S" && header.isContinued) await skipSparseMap();
      await bytes.skip(header.size + paddingBytesAfter(header.size), path);
    }
  } finally {
    await bytes.close();
  }

  /**
   * Decides whether to yield an entry, and returns null for the archive's root folder. For an entry to leave
   * out, returns the reason; the kind `last` means that the reader stops there, because no later entry can
   * fit either.
   */
  function judge(
    header: EntryHeader,
  ):
    | Pick<ArchiveEntry, "kind" | "newFolders">
    | { readonly kind: LeftOutEntry["kind"] | "last"; readonly reason: string }
    | null {
    const unnamed = onLeftOut && findUnnamed(header.name, limits);
    if (unnamed) {
      judgeKind(header, path);
      unnamedCount += 1;
      return unnamedCount > limits.entries
        ? { kind: "last", reason: `the archive has more than ${limits.entries} files and folders` }
        : unnamed;
    }
    path = parseEntryPath(header.name);
    const excess = findPathLengthProblem(path, limits);
    if (excess && !onLeftOut) throw archiveRefusedError(path, excess);
    const kind = judgeKind(header, path);
    if (excess) return { kind: "missed", reason: excess };
    const fits = header.size <= bytesLeft;
    if (!fits && !onLeftOut) throw archiveRefusedError(path, tooMuch(limits));
    const claimed = claim(path, kind === "folder");
    if ("excess" in claimed) return { kind: "last", reason: claimed.excess };

    if (path === "") return null;
    if (typeof kind !== "string" || !fits) {
      unannounced.add(claimed.newFolders);
      return typeof kind === "string"
        ? { kind: "missed", reason: tooMuch(limits) }
        : { kind: "barred", reason: `the entry is ${kind.other}` };
    }
    bytesLeft -= header.size;
    return { kind, newFolders: claimed.newFolders };
  }

  async function skipSparseMap(): Promise<void> {
    for (let isContinued = true; isContinued; ) {
      // The header does not say how long the map of a sparse file is. Count the map as content, because it
      // could otherwise go on for ever.
      if (tarBlockBytes > bytesLeft) throw archiveRefusedError(path, tooMuch(limits));
      bytesLeft -= tarBlockBytes;
      isContinued = (await bytes.read(tarBlockBytes, path))[504] !== 0;
    }
  }
}

/** The folders that have no entry of their own and that, so far, contain only left-out entries. */
class UnannouncedFolders {
  readonly #folders = new Set<string>();

  add(folders: readonly string[]): void {
    for (const folder of folders) this.#folders.add(folder);
  }

  /**
   * Returns those folders of the path that no yielded entry has listed in `newFolders` yet, the outermost
   * first.
   */
  announce(path: string): string[] {
    const folders: string[] = [];
    for (let end = 0; end >= 0 && this.#folders.size > 0; ) {
      end = path.indexOf("/", end + 1);
      const folder = end < 0 ? path : path.slice(0, end);
      if (this.#folders.delete(folder)) folders.push(folder);
    }
    return folders;
  }
}

/**
 * Returns why the reader leaves out an entry because of its name, which is too long or cannot be shown.
 * Returns undefined for any other name.
 */
function findUnnamed(
  name: Uint8Array,
  { nameBytes }: ArchiveLimits,
): { readonly kind: LeftOutEntry["kind"]; readonly reason: string } | undefined {
  const surround = "./".length + "/".length;
  if (name.length > nameBytes + surround)
    return { kind: "missed", reason: `the name is longer than ${nameBytes} bytes` };
  const oddity = findUnprintableNameReason(name);
  return oddity === undefined ? undefined : { kind: "barred", reason: oddity };
}

function tooMuch({ bytes }: ArchiveLimits): string {
  return `the content is larger than ${bytes} bytes`;
}

function judgeKind(header: EntryHeader, path: string): "file" | "folder" | { other: string } {
  if (path === "" && (header.isSparse || header.type !== "5"))
    throw archiveRefusedError(path, "the name is empty");
  if (header.isSparse) return { other: "a sparse file" };
  const { type, size } = header;
  const other = linksAndDevices.get(type);
  const isFile = isRegularFileEntry(header);
  if (!isFile && !other && type !== "5" && type !== "0")
    throw archiveRefusedError(path, `the entry has the unknown type ${JSON.stringify(type)}`);
  // Programs disagree on whether such an entry has content, and so on where the next header starts.
  if (!isFile && size > 0)
    throw archiveRefusedError(path, `the entry is ${other ?? "a folder"}, but has content`);
  if (other) return { other };
  return isFile ? "file" : "folder";
}

/**
 * Returns the file mode with which to create an entry: 755 for a folder or a file that its owner may execute,
 * 644 for any other file.
 */
function maskMode(kind: "file" | "folder", mode: number): number {
  return kind === "folder" || (mode & 0o100) !== 0 ? 0o755 : 0o644;
}

async function* contentOf(
  bytes: ArchiveByteReader,
  rest: { bytes: number; isOver: boolean },
  path: string,
): AsyncGenerator<Uint8Array> {
  while (rest.bytes > 0) {
    if (rest.isOver)
      throw new Error(`The content of ${path} was requested after the reader had moved to the next entry`);
    const piece = await bytes.take(rest.bytes, path);
    rest.bytes -= piece.length;
    yield piece;
  }
}
