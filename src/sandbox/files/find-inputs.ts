import { glob, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { resolvesInsideFolder } from "../../machine/path-containment.ts";
import { hasControlCharacters } from "../../text/sanitize-text.ts";
import type { SandboxInputFile } from "../sandbox-folders-port.ts";

const maxFiles = 10_000;
const maxBytes = 1024 ** 3;

/**
 * Finds the sandbox's input files: the files below a folder that match glob patterns. Throws if a pattern
 * matches no file, or if a match is not a regular file inside the folder.
 */
export async function findSandboxInputFiles(
  folder: string,
  patterns: readonly string[],
): Promise<SandboxInputFile[]> {
  const found = new Map<string, SandboxInputFile>();
  let bytes = 0;
  for (const pattern of patterns) {
    const refuse = (reason: string): never => {
      throw new SwarmError("INPUT_REFUSED", { pattern, reason });
    };
    let matches = 0;
    for await (const match of glob(pattern, { cwd: folder, exclude: isOurs })) {
      const path = match.split(sep).join("/");
      const stats = await stat(join(folder, match)).catch(() => refuse(`${path} is a broken link`));
      if (stats.isDirectory()) continue;
      if (!stats.isFile()) refuse(`${path} is not a regular file`);
      if (!(await resolvesInsideFolder(folder, join(folder, match))))
        refuse(`${path} is a link to a file outside the folder`);
      if (hasControlCharacters(path) || /[\r\n\t]/.test(path))
        refuse("a file name contains control characters");
      matches += 1;
      if (found.has(path)) continue;
      bytes += stats.size;
      found.set(path, { path, from: await realpath(join(folder, match)) });
      if (found.size > maxFiles) refuse(`the pattern matches more than ${maxFiles} files`);
      if (bytes > maxBytes) refuse("the input files are larger than 1 GiB in total");
    }
    if (matches === 0) refuse("no file matches the pattern");
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Returns whether a path belongs to git or to swarm's sandboxes. Such a file is never an input of a sandbox,
 * even if it matches a glob pattern.
 */
function isOurs(path: string): boolean {
  return path.split(sep).includes(".git") || `${path}${sep}`.startsWith(join(".aimi", "sandboxes", sep));
}
