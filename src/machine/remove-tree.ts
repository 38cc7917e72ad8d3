import { lstat, opendir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";

const atOnce = 32;

/**
 * Removes a file, or a folder with its content, with at most 32 deletions at once in a folder. Node's `rm`
 * starts all deletions at once, which takes 3 kB of memory per file.
 */
export async function removeTree(path: string): Promise<void> {
  const stats = await lstat(path).catch(forgiveMissing);
  if (!stats) return;
  if (!stats.isDirectory()) return unlink(path).catch(forgiveMissing);

  let batch: Promise<void>[] = [];
  for await (const entry of await opendir(path, { bufferSize: 256 })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await removeTree(inner);
    else batch.push(unlink(inner).catch(forgiveMissing));
    if (batch.length < atOnce) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  await rmdir(path).catch(forgiveMissing);
}

function forgiveMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
