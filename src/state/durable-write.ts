import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/** The file operations of a durable write, passed in so that a test can make any of them fail. */
export type FileOperations = Pick<typeof fs, "open" | "rename" | "unlink" | "readdir">;

export interface DurableWriteOptions {
  readonly files?: FileOperations;
  /** Whether to flush the file and its folder to disk. */
  readonly sync?: boolean;
  /** Called directly before the rename. If this function throws, the old content stays. */
  readonly beforeRename?: () => Promise<void>;
}

/**
 * Replaces a file so that it has either all of the old content or all of the new, even after a crash at any
 * point. Returns the stats of the new file, read before the rename, because later the path may lead to
 * another writer's file. Does not use write-file-atomic: on a full disk it reports success but leaves a
 * truncated file, and another user can guess its temporary name and place a link there
 * (docs/decisions/0004-own-durable-writer.md).
 */
export async function writeDurably(
  file: string,
  content: string | Uint8Array,
  { files = fs, sync = true, beforeRename = async () => {} }: DurableWriteOptions = {},
): Promise<BigIntStats> {
  const folder = dirname(file);
  const temporary = join(folder, `${temporaryPrefix(file)}${randomBytes(9).toString("hex")}.tmp`);
  let holds: "old" | "new" = "old";
  try {
    const written = await writeNew(
      temporary,
      typeof content === "string" ? Buffer.from(content) : content,
      files,
      sync,
    );
    await beforeRename();
    await files.rename(temporary, file);
    holds = "new";
    if (sync) await syncFolder(folder, files);
    return written;
  } catch (error) {
    await files.unlink(temporary).catch(() => undefined);
    if (error instanceof SwarmError) throw error;
    // If the temporary file is missing, the next holder of the lock has removed it. Then `beforeRename`
    // throws LOCK_LOST.
    if (holds === "old" && isMissing(error)) await beforeRename();
    throw new SwarmError("STATE_WRITE_FAILED", { file, reason: reasonOf(error), holds }, error);
  }
}

/**
 * Removes temporary files that other writers did not rename. A killed writer leaves its file behind, and a
 * suspended writer must not rename its file later, so this function throws unless it removes all of them. The
 * caller must hold the lock. `confirm` checks the lock after the files are listed, so none of the files
 * belongs to the next holder.
 */
export async function removeTemporaryFiles(
  file: string,
  { files = fs, confirm = async () => {} }: { files?: FileOperations; confirm?: () => Promise<void> } = {},
): Promise<void> {
  const folder = dirname(file);
  try {
    const entries = await files.readdir(folder, { withFileTypes: true }).catch(ifMissing([]));
    const leftovers = entries.filter(
      (entry) =>
        !entry.isDirectory() && entry.name.startsWith(temporaryPrefix(file)) && entry.name.endsWith(".tmp"),
    );
    if (leftovers.length > 0) await confirm();
    await Promise.all(
      leftovers.map(({ name }) => files.unlink(join(folder, name)).catch(ifMissing(undefined))),
    );
  } catch (error) {
    if (error instanceof SwarmError) throw error;
    throw new SwarmError("STATE_WRITE_FAILED", { file, reason: reasonOf(error), holds: "old" }, error);
  }
}

function temporaryPrefix(file: string): string {
  return `.${basename(file)}.`;
}

async function writeNew(
  file: string,
  bytes: Uint8Array,
  files: FileOperations,
  sync: boolean,
): Promise<BigIntStats> {
  // The flag "wx" means O_CREAT | O_EXCL: never write through a file or link that another user placed under
  // this name.
  const handle = await files.open(file, "wx", 0o644);
  try {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
      written += bytesWritten;
    }
    if (sync) await handle.sync();
    return fstatSync(handle.fd, { bigint: true });
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string, files: FileOperations): Promise<void> {
  const handle = await files.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function ifMissing<Instead>(instead: Instead): (error: unknown) => Instead {
  return (error) => {
    if (isMissing(error)) return instead;
    throw error;
  };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ? `${code} ${message.replace(`${code}: `, "")}` : String(message);
}
