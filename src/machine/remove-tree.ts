import { lstat, opendir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../errors/system-errors.ts";

const atOnce = 32;

/**
 * Removes a file, or a folder with its content, with at most 32 deletions at once in a folder. Node's `rm`
 * starts all deletions at once, which takes 3 kB of memory per file.
 */
export async function removeTree(path: string): Promise<void> {
  const stats = await lstat(path).catch(ifMissing(undefined));
  if (!stats) return;
  if (!stats.isDirectory()) return unlink(path).catch(ifMissing(undefined));

  let batch: Promise<void>[] = [];
  for await (const entry of await opendir(path, { bufferSize: 256 })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await removeTree(inner);
    else batch.push(unlink(inner).catch(ifMissing(undefined)));
    if (batch.length < atOnce) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  await rmdir(path).catch(ifMissing(undefined));
}
