import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/**
 * Whether a path, with all links followed, still lies in a folder; for one that does not exist yet, whether it would. A
 * repository that somebody else made may hold links to anywhere.
 */
export async function liesInside(folder: string, path: string): Promise<boolean> {
  const inside = relative(await realpath(folder), await realOf(path));
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // A link that leads to nothing would be written through; only what is really absent may be made.
    const isLink = await lstat(path).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    if (isLink || dirname(path) === path) return sep;
    return `${await realOf(dirname(path))}${sep}${path.slice(dirname(path).length + 1)}`;
  }
}

/** The path of a file of ours in `.aimi`; FILE_FAILED where a link there leads out of the repository. */
export async function ownFile(root: string, name: string): Promise<string> {
  const file = join(root, ".aimi", name);
  if (await liesInside(root, file)) return file;
  throw new SwarmError("FILE_FAILED", {
    file: `.aimi/${name}`,
    reason: "a link there leads out of the repository",
  });
}
