import { randomBytes } from "node:crypto";
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
 * Replaces a file so that, whatever dies and whenever, it holds either all of the old content or all of the new.
 * On a full disk write-file-atomic reports success over a truncated file, and its temporary name can be guessed and
 * planted as a link (docs/decisions/0004-own-durable-writer.md); hence these lines.
 */
export async function writeDurably(
  file: string,
  content: string | Uint8Array,
  { files = fs, sync = true, beforeRename = async () => {} }: DurableWriteOptions = {},
): Promise<void> {
  const folder = dirname(file);
  const temporary = join(folder, `${temporaryPrefix(file)}${randomBytes(9).toString("hex")}.tmp`);
  let holds: "old" | "new" = "old";
  try {
    await writeNew(temporary, typeof content === "string" ? Buffer.from(content) : content, files, sync);
    await beforeRename();
    await files.rename(temporary, file);
    holds = "new";
    if (sync) await syncFolder(folder, files);
  } catch (error) {
    await files.unlink(temporary).catch(() => undefined);
    if (error instanceof SwarmError) throw error;
    throw new SwarmError("STATE_WRITE_FAILED", { file, reason: reasonOf(error), holds }, error);
  }
}

/** Removes what writers left behind that were killed in the middle. Call it only while nobody else can be writing. */
export async function removeLeftovers(file: string, files: WriteFiles = fs): Promise<void> {
  const names = await files.readdir(dirname(file)).catch(() => []);
  const leftovers = names.filter((name) => name.startsWith(temporaryPrefix(file)) && name.endsWith(".tmp"));
  await Promise.all(leftovers.map((name) => files.unlink(join(dirname(file), name)).catch(() => undefined)));
}

function temporaryPrefix(file: string): string {
  return `.${basename(file)}.`;
}

async function writeNew(file: string, bytes: Uint8Array, files: WriteFiles, sync: boolean): Promise<void> {
  // "wx" is O_CREAT | O_EXCL: a file or link that somebody planted under this name is never written through.
  const handle = await files.open(file, "wx", 0o644);
  try {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, written, bytes.length - written);
      written += bytesWritten;
    }
    if (sync) await handle.sync();
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

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ? `${code} ${message.replace(`${code}: `, "")}` : String(message);
}
