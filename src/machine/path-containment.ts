import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { SwarmError } from "../errors/errors.ts";

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
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // A broken link counts as outside the folder, because a write would follow the link.
    const isLink = await lstat(path).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    if (isLink || dirname(path) === path) return sep;
    return `${await realOf(dirname(path))}${sep}${path.slice(dirname(path).length + 1)}`;
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
