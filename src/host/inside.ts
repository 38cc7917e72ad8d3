import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/**
 * Whether a path lies in a folder after following all links; for a path that does not exist yet, whether it
 * would. An untrusted repository may hold links to anywhere.
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
    // A write would follow a broken link, so a broken link counts as outside; only a truly missing path may be created.
    const isLink = await lstat(path).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    );
    if (isLink || dirname(path) === path) return sep;
    return `${await realOf(dirname(path))}${sep}${path.slice(dirname(path).length + 1)}`;
  }
}

/** The path of one of swarm's files in `.aimi`; throws FILE_FAILED if a link there leads out of the repository. */
export async function ownFile(root: string, name: string): Promise<string> {
  const file = join(root, ".aimi", name);
  if (await liesInside(root, file)) return file;
  throw new SwarmError("FILE_FAILED", {
    file: `.aimi/${name}`,
    reason: "a link there leads out of the repository",
  });
}
