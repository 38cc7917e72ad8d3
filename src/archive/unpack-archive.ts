import { constants } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FirstOfMany } from "../domain/first-of-many.ts";
import { type ArchiveEntry, type ArchiveLimits, type LeftOut, readArchive } from "./read-archive.ts";
import { refusal } from "./refusal.ts";
import { untilAborted } from "./until-aborted.ts";

export interface UnpackOptions {
  /** The folder that is made; there must be nothing of this name yet. */
  readonly into: string;
  readonly limits: ArchiveLimits;
  /** Whether links, devices, FIFOs and sparse files are left out; otherwise they refuse the archive. */
  readonly leaveOut: boolean;
}

export interface Unpacked {
  /** The first ones in the order of the archive, without the folders. */
  readonly files: readonly string[];
  readonly bytes: number;
  /** The first of what was left out. */
  readonly leftOut: readonly LeftOut[];
  /** How many there are of each kind that are not listed. */
  readonly more: { readonly files: number; readonly barred: number; readonly missed: number };
}

/** What is listed of it; an archive can hold names without end. */
const listedFiles = { items: 100_000, characters: 8 * 1024 * 1024 };
const listedLeftOut = { items: 100, characters: 100_000 };

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

const folderMode = 0o755;

/** What a path may have on this machine; a name is refused or left out before it is tried. */
const longestPathBytes = 4095;

/** Unpacks an archive that may have been made to do harm: all of it, or nothing. */
export async function unpackArchive(
  archive: AsyncIterable<Uint8Array>,
  { into, limits, leaveOut }: UnpackOptions,
  signal?: AbortSignal,
): Promise<Unpacked> {
  signal?.throwIfAborted();
  if (await lstat(into).catch(forgiveMissing)) throw new Error(`${into} exists already`);

  // Beside its place, so that a rename puts it there whole; until then nobody else may look into it.
  const fresh = await mkdtemp(join(dirname(into), ".unpacking-"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(fresh, { recursive: true, force: true }));

  const files = new FirstOfMany<string>(listedFiles);
  const leftOut = {
    barred: new FirstOfMany<LeftOut>(listedLeftOut),
    missed: new FirstOfMany<LeftOut>(listedLeftOut),
  };
  let bytes = 0;
  for await (const entry of readArchive(signal ? untilAborted(archive, signal) : archive, {
    limits: {
      ...limits,
      nameBytes: Math.min(limits.nameBytes, longestPathBytes - Buffer.byteLength(fresh) - 1),
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
    ...{ files: files.items, bytes, leftOut: [...barred.items, ...missed.items] },
    more: { files: files.more, barred: barred.more, missed: missed.more },
  };
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder);
  // Apart from `mkdir`, so that the umask has no part in it.
  await chmod(folder, folderMode);
}

async function writeFile(file: string, { path, mode, content }: ArchiveEntry): Promise<void> {
  await using handle = await translated(path, () =>
    open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  );
  await handle.writeFile(content);
  await handle.chmod(mode);
}

/** Where a file system knows fewer names than we do, such as one that ignores case, that is the archive's fault and not ours. */
async function translated<Result>(path: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      throw refusal(path, "this file system takes it for a name that is there already", error);
    if (code === "ENAMETOOLONG" || code === "EILSEQ" || code === "EINVAL")
      throw refusal(path, "this file system cannot have that name", error);
    throw error;
  }
}

function forgiveMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
