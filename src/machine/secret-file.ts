import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { SwarmError } from "../errors/errors.ts";

/**
 * Returns the random secret that a file contains, in hexadecimal digits. If the file does not exist, creates
 * it with a new secret.
 */
export async function readOrCreateSecret(
  file: string,
  { bytes }: { readonly bytes: number },
): Promise<string> {
  const read = async (): Promise<string> => {
    const found = (await readFile(file, "utf8")).trim();
    if (!/^[0-9a-f]+$/.test(found) || found.length !== 2 * bytes)
      throw new SwarmError("FILE_FAILED", {
        file,
        reason: "the file is damaged; remove the file, and swarm creates a new one",
      });
    return found;
  };
  const present = await read().catch(nullIfMissing);
  if (present !== null) return present;
  const made = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(made, randomBytes(bytes).toString("hex"), { flag: "wx", mode: 0o600 });
  // The file is complete before it gets its name by a link. If two processes race, the second one uses the
  // first one's secret.
  await link(made, file).catch(() => undefined);
  await rm(made, { force: true });
  return read();
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}
