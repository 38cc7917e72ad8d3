import { readFile } from "node:fs/promises";
import { parseJsonOrNull } from "../text/parse-json-or-null.ts";

/** Reads a JSON object that swarm can do without. Returns an empty object if the file is missing or broken. */
export async function readJsonObject(file: string): Promise<Readonly<Record<string, unknown>>> {
  const value = parseJsonOrNull(await readFile(file, "utf8").catch(() => ""));
  return { ...(value as object | null) };
}
