import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { EntryToPack } from "../../archive/pack-files.ts";
import { SwarmError } from "../../errors/errors.ts";

const owner = { uid: 1000, gid: 1000 };

/**
 * Returns the tar entries for a file of this machine, or for a folder with its content. Leaves out devices,
 * and also symbolic links in a folder, because a link could lead to any file.
 */
export async function listArchiveEntries(
  from: string,
  name: string = basename(from),
): Promise<EntryToPack[]> {
  const top = await realpath(from).catch((error: NodeJS.ErrnoException) => {
    throw new SwarmError(
      "FILE_UNREADABLE",
      { place: { file: from }, reason: error.code ?? error.message },
      error,
    );
  });
  const stats = await stat(top);
  if (stats.isFile()) return [{ ...owner, kind: "file", path: name, mode: stats.mode & 0o755, from: top }];
  if (!stats.isDirectory())
    throw new SwarmError("FILE_UNREADABLE", {
      place: { file: from },
      reason: "the path is neither a file nor a folder",
    });
  const files: EntryToPack[] = [{ ...owner, kind: "folder", path: name, mode: 0o755 }];
  for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
    const real = join(entry.parentPath, entry.name);
    const path = join(name, real.slice(top.length));
    if (entry.isDirectory()) files.push({ ...owner, kind: "folder", path, mode: 0o755 });
    if (entry.isFile())
      files.push({ ...owner, kind: "file", path, mode: (await stat(real)).mode & 0o755, from: real });
  }
  return files;
}
