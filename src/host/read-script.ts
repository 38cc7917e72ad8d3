import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { liesInside } from "./inside.ts";

/**
 * Reads a script file as JSON. The file must lie in the folder after following all links. The sandbox
 * validates the content.
 */
export async function readScript(folder: string, path: string): Promise<object> {
  const file = join(folder, path);
  try {
    if (!(await liesInside(folder, file))) throw new Error("the script is outside the folder .aimi");
    return JSON.parse(await readFile(file, "utf8")) as object;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SwarmError("FILE_UNREADABLE", { place: { file: `.aimi/${path}` }, reason }, error);
  }
}
