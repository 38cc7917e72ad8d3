import { randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { ifMissing } from "../errors/system-errors.ts";
import { createFileDurably } from "./durable-write.ts";

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
  const present = await read().catch(ifMissing(null));
  if (present !== null) return present;
  await mkdir(dirname(file), { recursive: true });
  // If two processes race, the second one uses the first one's secret.
  await createFileDurably(file, randomBytes(bytes).toString("hex"), { mode: 0o600 });
  return read();
}
