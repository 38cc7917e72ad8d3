import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * The text of a regular file of at most `maxBytes`; null for anything else. A repository may hold a link to
 * an endless device, or a FIFO without a writer: follows no link, and does not block on a FIFO.
 */
export function readSmall(file: string, maxBytes: number): string | null {
  let handle: number;
  try {
    handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    // Missing, a link, or not readable for this user.
    return null;
  }
  try {
    const stats = fstatSync(handle);
    if (!stats.isFile() || stats.size > maxBytes) return null;
    const bytes = Buffer.alloc(Math.min(maxBytes, stats.size) + 1);
    let length = 0;
    for (;;) {
      const count = readSync(handle, bytes, length, bytes.length - length, null);
      if (count === 0) return bytes.toString("utf8", 0, length);
      length += count;
      // The file has grown, or its size was not its true length, as in `/proc`.
      if (length === bytes.length) return null;
    }
  } finally {
    closeSync(handle);
  }
}
