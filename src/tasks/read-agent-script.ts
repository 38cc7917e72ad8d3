import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";

/**
 * Reads a script file as JSON. Throws if the file, after resolving symbolic links, is outside the folder. The
 * sandbox validates the script's content.
 */
export async function readAgentScript(folder: string, path: string): Promise<object> {
  const file = join(folder, path);
  try {
    if (!(await resolvesInsideFolder(folder, file)))
      throw new Error("the script is outside the folder .aimi");
    return JSON.parse(await readFile(file, "utf8")) as object;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SwarmError("FILE_UNREADABLE", { place: { file: `.aimi/${path}` }, reason }, error);
  }
}
