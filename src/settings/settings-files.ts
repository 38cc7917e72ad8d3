import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import { SwarmError } from "../errors/errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import type { FileContent } from "./trusted-files.ts";

const largest = 1024 * 1024;

/** Reads a file with settings of swarm; returns null if the file does not exist. */
export async function readSettingsFile(file: string, within?: string): Promise<FileContent | null> {
  try {
    // Refuse all but regular files: to read a FIFO at this path would block for ever.
    if (!(await stat(file)).isFile())
      throw new SwarmError("FILE_UNREADABLE", { place: { file }, reason: "the file is not a regular file" });
    if (within !== undefined && !(await resolvesInsideFolder(within, file))) {
      throw new SwarmError("FILE_UNREADABLE", {
        place: { file },
        reason: "the file is a link to a file outside the repository",
      });
    }
    const bytes = await readFile(file);
    if (bytes.length > largest)
      throw new SwarmError("FILE_TOO_LARGE", { place: { file }, bytes: bytes.length, limit: largest });
    return {
      path: file,
      realPath: await realpath(file),
      bytes,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    };
  } catch (error) {
    if (error instanceof SwarmError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new SwarmError("FILE_UNREADABLE", { place: { file }, reason: code ?? message }, error);
  }
}
