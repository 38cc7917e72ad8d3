import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/** Hexadecimal digits that were made by chance once and stand in a file since. */
export async function ownSecret(file: string, { bytes }: { readonly bytes: number }): Promise<string> {
  const read = async (): Promise<string> => {
    const found = (await readFile(file, "utf8")).trim();
    if (!/^[0-9a-f]+$/.test(found) || found.length !== 2 * bytes)
      throw new SwarmError("FILE_FAILED", {
        file,
        reason: "it is damaged; once it is removed, a new one is made",
      });
    return found;
  };
  const present = await read().catch(nullIfMissing);
  if (present !== null) return present;
  const made = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(made, randomBytes(bytes).toString("hex"), { flag: "wx", mode: 0o600 });
  // Complete before it has its name; of two processes the second takes what the first has made.
  await link(made, file).catch(() => undefined);
  await rm(made, { force: true });
  return read();
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
