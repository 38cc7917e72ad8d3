import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { isSystemError } from "../errors/system-errors.ts";

/**
 * Returns whether a path lies in a folder after all symbolic links are resolved, because an untrusted
 * repository may contain links to any path. The path need not exist.
 */
export async function resolvesInsideFolder(folder: string, path: string): Promise<boolean> {
  const inside = relative(await realpath(folder), await realOf(path));
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isSystemError(error, "ENOENT")) throw error;
    // A broken link counts as outside the folder, because a write would follow the link.
    const stats = await lstat(path).catch(() => null);
    if (stats?.isSymbolicLink() || dirname(path) === path) return sep;
    return join(await realOf(dirname(path)), basename(path));
  }
}

/**
 * Returns the path of one of swarm's files in the repository's folder `.aimi`. Throws FILE_FAILED if a
 * symbolic link leads out of the repository.
 */
export async function resolveSwarmFile(root: string, name: string): Promise<string> {
  const file = join(root, ".aimi", name);
  if (await resolvesInsideFolder(root, file)) return file;
  throw new SwarmError("FILE_FAILED", {
    file: `.aimi/${name}`,
    reason: "a link in this path points outside the repository",
  });
}

/** Throws FILE_UNWRITABLE if a symbolic link in the path of a file leads out of the repository. */
export async function refuseLinkOutside(root: string, file: string): Promise<void> {
  if (!(await resolvesInsideFolder(root, file)))
    throw new SwarmError("FILE_UNWRITABLE", {
      file,
      reason: "a link in this path points outside the repository",
    });
}
