import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync, type Stats } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifMissing, ifSystemError, isSystemError } from "../errors/system-errors.ts";

/** The file operations that a durable write uses. A test replaces one of them to make it fail. */
export type FileOperations = Pick<typeof fs, "open" | "rename" | "unlink">;

export interface DurableWriteOptions {
  readonly files?: FileOperations;
  /** Whether to flush the file and its folder to disk (`fsync`). */
  readonly sync?: boolean;
  /** The mode of the new file, from which the process's umask is subtracted. */
  readonly mode?: number;
  /**
   * Whether the new file gets the mode of the file that it replaces, and its owner if this process is root.
   * With `owner`, the file gets only the owner.
   */
  readonly keepAttributes?: boolean | "owner";
  /**
   * Called directly before the temporary file is renamed to the final name. If this function throws, the file
   * keeps its old content.
   */
  readonly beforeRename?: () => Promise<void>;
  /** Called directly after the rename, from which on the file has its new content. */
  readonly afterRename?: () => void;
}

/**
 * Replaces a file atomically, so that it has all of the old content or all of the new, even after a crash.
 * Returns the stats of the new file, which are read before the rename, because another process may replace
 * the file after it. Does not use the npm package write-file-atomic, which can leave a truncated file on a
 * full disk and report success (docs/decisions/0004-own-durable-writer.md, 0044-one-durable-writer.md).
 */
export async function writeFileDurably(
  file: string,
  content: string | Uint8Array,
  options: DurableWriteOptions = {},
): Promise<BigIntStats> {
  const { files = fs, sync = true, beforeRename = async () => {}, afterRename } = options;
  const temporary = temporaryFileFor(file);
  let isRenamed = false;
  try {
    const like = options.keepAttributes ? await fs.stat(file).catch(ifMissing(undefined)) : undefined;
    const written = await writeNew(temporary, content, options, like);
    await beforeRename();
    await files.rename(temporary, file);
    isRenamed = true;
    afterRename?.();
    if (sync) await syncFolder(dirname(file), files);
    return written;
  } catch (error) {
    await files.unlink(temporary).catch(() => undefined);
    // If the temporary file is missing, the next holder of the lock has removed it. Then `beforeRename`
    // throws LOCK_LOST.
    if (!isRenamed && isSystemError(error, "ENOENT")) await beforeRename();
    throw error;
  }
}

/**
 * Creates a file like `writeFileDurably`, but only if it does not exist. Returns false if it exists: of two
 * processes that create the file at the same time, only one succeeds.
 */
export async function createFileDurably(
  file: string,
  content: string,
  options: Pick<DurableWriteOptions, "mode"> = {},
): Promise<boolean> {
  const temporary = temporaryFileFor(file);
  try {
    await writeNew(temporary, content, options);
    // The file is complete before it gets its name by the link.
    await fs.link(temporary, file);
  } catch (error) {
    return ifSystemError(false, "EEXIST")(error);
  } finally {
    await fs.unlink(temporary).catch(() => undefined);
  }
  await syncFolder(dirname(file));
  return true;
}

/**
 * Removes the temporary files of killed or suspended writers of this file, so that a suspended writer cannot
 * rename its temporary file later. The caller must hold the file's lock; before the removal, `confirm` checks
 * that the caller still holds it.
 */
export async function removeTemporaryFiles(
  file: string,
  confirm: () => Promise<void> = async () => {},
): Promise<void> {
  const folder = dirname(file);
  const entries = await fs.readdir(folder, { withFileTypes: true }).catch(ifMissing([]));
  const leftovers = entries.filter(
    (entry) =>
      !entry.isDirectory() && entry.name.startsWith(temporaryPrefix(file)) && entry.name.endsWith(".tmp"),
  );
  if (leftovers.length > 0) await confirm();
  await Promise.all(leftovers.map(({ name }) => fs.unlink(join(folder, name)).catch(ifMissing(undefined))));
}

/** Makes the entries of a folder, such as a renamed file, survive a power failure. */
export async function syncFolder(folder: string, files: Pick<FileOperations, "open"> = fs): Promise<void> {
  const handle = await files.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function temporaryPrefix(file: string): string {
  return `.${basename(file)}.`;
}

function temporaryFileFor(file: string): string {
  return join(dirname(file), `${temporaryPrefix(file)}${randomBytes(9).toString("hex")}.tmp`);
}

async function writeNew(
  file: string,
  content: string | Uint8Array,
  { files = fs, sync = true, mode = 0o644, keepAttributes }: DurableWriteOptions,
  like?: Stats,
): Promise<BigIntStats> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  // The flag "wx" means O_CREAT | O_EXCL: never write through a file or link that another user placed under
  // this name.
  const handle = await files.open(file, "wx", mode);
  try {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
      written += bytesWritten;
    }
    if (like && process.getuid?.() === 0) await handle.chown(like.uid, like.gid);
    if (like && keepAttributes === true) await handle.chmod(like.mode & 0o7777);
    if (sync) await handle.sync();
    return fstatSync(handle.fd, { bigint: true });
  } finally {
    await handle.close();
  }
}
