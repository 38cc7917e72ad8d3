import { randomBytes } from "node:crypto";
import { type BigIntStats, fstatSync } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/** The file operations of a durable write, so that a test can make any of them fail. */
export type WriteFiles = Pick<typeof fs, "open" | "rename" | "unlink" | "readdir">;

export interface DurableWriteOptions {
  readonly files?: WriteFiles;
  /** Whether to wait until the disk has it. */
  readonly sync?: boolean;
  /** The last chance to give up: what it throws leaves the old content. */
  readonly beforeRename?: () => Promise<void>;
}

/**
 * Replaces a file so that, whatever dies and whenever, it holds either all of the old content or all of the new. Says what the
 * new file is, asked before it got its name: what is there a moment later may be another writer's.
 * On a full disk write-file-atomic reports success over a truncated file, and its temporary name can be guessed and
 * planted as a link (docs/decisions/0004-own-durable-writer.md); hence these lines.
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
    // The next holder of the lock removes what was not renamed yet; the last look then says so.
    if (holds === "old" && isMissing(error)) await beforeRename();
    throw new SwarmError("STATE_WRITE_FAILED", { file, reason: reasonOf(error), holds }, error);
  }
}

/**
 * Removes what other writers began and did not rename. Those that were killed left it behind, and one that was stopped cannot
 * rename it when it goes on; so it fails if it cannot remove all. Call it only with the lock, and with its last look: what was
 * there before that look is not the next holder's.
 */
export async function removeLeftovers(
  file: string,
  { files = fs, confirm = async () => {} }: { files?: WriteFiles; confirm?: () => Promise<void> } = {},
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
  files: WriteFiles,
  sync: boolean,
): Promise<BigIntStats> {
  // "wx" is O_CREAT | O_EXCL: a file or link that somebody planted under this name is never written through.
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

async function syncFolder(folder: string, files: WriteFiles): Promise<void> {
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
