import { constants } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
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
  /** In the order of the archive, without the folders. */
  readonly files: string[];
  readonly bytes: number;
  readonly leftOut: LeftOut[];
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

const folderMode = 0o755;

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

  const files: string[] = [];
  const leftOut: LeftOut[] = [];
  let bytes = 0;
  const folders = foldersBelow(fresh);
  for await (const entry of readArchive(signal ? untilAborted(archive, signal) : archive, {
    limits,
    onLeftOut: leaveOut ? (entry) => leftOut.push(entry) : undefined,
  })) {
    if (entry.kind === "folder") {
      await translated(entry.path, () => folders.make(entry.path));
      continue;
    }
    await translated(entry.path, () => folders.make(dirname(entry.path)));
    await writeFile(join(fresh, entry.path), entry);
    files.push(entry.path);
    bytes += entry.size;
  }

  await chmod(fresh, folderMode);
  signal?.throwIfAborted();
  await rename(fresh, into);
  undo.move();
  return { files, bytes, leftOut };
}

function foldersBelow(fresh: string): { make(path: string): Promise<void> } {
  const made = new Set(["."]);
  return { make };

  async function make(path: string): Promise<void> {
    if (made.has(path)) return;
    await make(dirname(path));
    await mkdir(join(fresh, path));
    // Apart from `mkdir`, so that the umask has no part in it.
    await chmod(join(fresh, path), folderMode);
    made.add(path);
  }
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
