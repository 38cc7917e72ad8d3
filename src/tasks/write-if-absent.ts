import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { isSystemError } from "../errors/system-errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";

/**
 * Writes a new file in the user's repository and returns true. If the path already exists, changes nothing and
 * returns false.
 */
export async function writeIfAbsent(root: string, file: string, content: string): Promise<boolean> {
  const path = await locate(root, file);
  try {
    await writeFile(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if (isSystemError(error, "EEXIST")) return false;
    return explain(path)(error);
  }
}

/**
 * Appends those of the given lines that a text file of the user's repository does not yet contain. Returns
 * whether it appended any line.
 */
export async function addMissingLines(
  root: string,
  file: string,
  lines: readonly string[],
): Promise<boolean> {
  const path = await locate(root, file);
  const present = await readFile(path, "utf8").catch(() => "");
  const known = new Set(present.split("\n").map((line) => line.trim()));
  const missing = lines.filter((line) => !known.has(line));
  if (missing.length === 0) return false;
  const separator = present === "" || present.endsWith("\n") ? "" : "\n";
  await appendFile(path, `${separator}${missing.join("\n")}\n`).catch(explain(path));
  return true;
}

/** Returns the path of a file of the repository, after creating the file's folder. */
async function locate(root: string, file: string): Promise<string> {
  const path = join(root, file);
  if (!(await resolvesInsideFolder(root, path)))
    throw new SwarmError("FILE_UNWRITABLE", {
      file,
      reason: "a link in this path points outside the repository",
    });
  await mkdir(dirname(path), { recursive: true }).catch(explain(path));
  return path;
}

function explain(path: string): (error: unknown) => never {
  return (error) => {
    throw new SwarmError("FILE_UNWRITABLE", { file: path, reason: (error as Error).message }, error);
  };
}
