import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";

/** The file operations that a durable write uses. A test replaces one of them to make it fail. */
export type FileOperations = Pick<typeof fs, "open" | "rename" | "unlink" | "readdir">;

export interface DurableWriteOptions {
  readonly files?: FileOperations;
  /** Whether to flush the file and its folder to disk (`fsync`). */
  readonly sync?: boolean;
  /**
   * Called directly before the temporary file is renamed to the final name. If this function throws, the file
   * keeps its old content.
   */
  readonly beforeRename?: () => Promise<void>;
}

/**
 * Replaces a file atomically, so that it has all of the old content or all of the new, even after a crash.
 * Returns the stats of the new file, which are read before the rename, because another process may replace
 * the file after it. Does not use the npm package write-file-atomic, which can leave a truncated file on a
 * full disk and report success (docs/decisions/0004-own-durable-writer.md).
 */
export async function writeFileDurably(
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
 * Removes the temporary files of killed or suspended writers of this file, so that a suspended writer cannot
 * rename its temporary file later. The caller must hold the file's lock; before the removal, `confirm` checks
 * that the caller still holds it.
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
