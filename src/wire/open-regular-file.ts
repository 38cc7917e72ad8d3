import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ifSystemError } from "../errors/system-errors.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Opens a regular file for reading. Returns null if the path does not exist, or is anything else, such as a
 * link or a folder.
 */
export async function openRegularFile(file: string): Promise<FileHandle | null> {
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(
    ifSystemError(null, "ENOENT", "ENOTDIR", "ELOOP"),
  );
  if (handle === null || (await handle.stat()).isFile()) return handle;
  await handle.close();
  return null;
}
