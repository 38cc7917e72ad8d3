import { constants } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing } from "../errors/system-errors.ts";
import { BoundedList } from "../text/bounded-list.ts";
import { archiveRefusedError } from "./archive-refused.ts";
import { type ArchiveEntry, type ArchiveLimits, type LeftOutEntry, readArchive } from "./read-archive.ts";
import { untilAborted } from "./until-aborted.ts";

export interface UnpackOptions {
  /** The path of the folder to create and unpack the archive into. The path must not exist yet. */
  readonly into: string;
  readonly limits: ArchiveLimits;
  /**
   * Whether to leave out links, devices, FIFOs, sparse files and entries beyond a limit. If false, the
   * unpacker refuses an archive with such an entry.
   */
  readonly leaveOut: boolean;
}

export interface UnpackResult {
  /** The paths of the unpacked files, in the order of the archive, up to a maximum number. */
  readonly files: readonly string[];
  readonly bytes: number;
  /** The entries that the unpacker left out, with their reasons, up to a maximum number. */
  readonly leftOut: readonly LeftOutEntry[];
  /**
   * How many more unpacked files, and left-out entries of each kind, there are than `files` and `leftOut`
   * list.
   */
  readonly more: { readonly files: number; readonly barred: number; readonly missed: number };
}

/**
 * Maximum lengths of the lists `files` and `leftOut` in the result, because an archive may contain any number
 * of names.
 */
const listedFiles = { items: 100_000, characters: 8 * 1024 * 1024 };
const listedLeftOut = { items: 100, characters: 100_000 };

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

const folderMode = 0o755;

/**
 * Maximum length in bytes of a path on Linux. An entry whose unpacked path would be longer is refused or left
 * out.
 */
const maxPathBytes = 4095;

/**
 * Unpacks an untrusted tar archive atomically: the folder `into` appears with its whole content, or not at
 * all.
 */
export async function unpackArchive(
  archive: AsyncIterable<Uint8Array>,
  { into, limits, leaveOut }: UnpackOptions,
  signal?: AbortSignal,
): Promise<UnpackResult> {
  signal?.throwIfAborted();
  if (await lstat(into).catch(ifMissing(undefined))) throw new Error(`${into} exists already`);

  // Unpack into a folder on the same filesystem as `into`, so that a rename publishes the whole content at
  // once. Until then, other users have no access to the folder.
  const fresh = await mkdtemp(join(dirname(into), ".unpacking-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(fresh, { recursive: true, force: true }));

  const files = new BoundedList<string>(listedFiles);
  const leftOut = {
    barred: new BoundedList<LeftOutEntry>(listedLeftOut),
    missed: new BoundedList<LeftOutEntry>(listedLeftOut),
  };
  let bytes = 0;
  for await (const entry of readArchive(signal ? untilAborted(archive, signal) : archive, {
    limits: {
      ...limits,
      nameBytes: Math.min(limits.nameBytes, maxPathBytes - Buffer.byteLength(fresh) - 1),
    },
    onLeftOut: leaveOut
      ? (entry) => leftOut[entry.kind].add(entry, entry.path.length + entry.reason.length)
      : undefined,
  })) {
    for (const folder of entry.newFolders)
      await translated(entry.path, () => makeFolder(join(fresh, folder)));
    if (entry.kind === "folder") continue;
    await writeFile(join(fresh, entry.path), entry);
    files.add(entry.path, entry.path.length);
    bytes += entry.size;
  }

  await chmod(fresh, folderMode);
  signal?.throwIfAborted();
  await rename(fresh, into);
  undo.move();
  const { barred, missed } = leftOut;
  return {
    files: files.items,
    bytes,
    leftOut: [...barred.items, ...missed.items],
    more: { files: files.more, barred: barred.more, missed: missed.more },
  };
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  // Set the mode with `chmod`: the umask would change a mode given to `mkdir`.
  await chmod(folder, folderMode);
}

async function writeFile(file: string, { path, mode, content }: ArchiveEntry): Promise<void> {
  await using handle = await translated(path, () =>
    open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  );
  await handle.writeFile(content);
  await handle.chmod(mode);
}

/**
 * Creates a file or folder with `make`. Refuses the archive if the target's filesystem cannot hold this name,
 * for example because it ignores case.
 */
async function translated<Result>(path: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      throw archiveRefusedError(path, "the file system treats the name as equal to an existing name", error);
    if (code === "ENAMETOOLONG" || code === "EILSEQ" || code === "EINVAL")
      throw archiveRefusedError(path, "the file system does not allow the name", error);
    throw error;
  }
}
