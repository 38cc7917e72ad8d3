import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * A plain file that is no longer than that; null for anything else. What lies in a repository may be a link to something without an end, or
 * a pipe that nobody writes: neither is followed or waited for.
 */
export function readSmall(file: string, mostBytes: number): string | null {
  let handle: number;
  try {
    handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    // Not there, a link, or not ours to read.
    return null;
  }
  try {
    const stats = fstatSync(handle);
    if (!stats.isFile() || stats.size > mostBytes) return null;
    const bytes = Buffer.alloc(Math.min(mostBytes, stats.size) + 1);
    let length = 0;
    for (;;) {
      const count = readSync(handle, bytes, length, bytes.length - length, null);
      if (count === 0) return bytes.toString("utf8", 0, length);
      length += count;
      // It has grown, or never told how long it is.
      if (length === bytes.length) return null;
    }
  } finally {
    closeSync(handle);
  }
}
