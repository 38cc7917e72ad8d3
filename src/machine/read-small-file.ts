import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Reads the text of a small regular file, possibly in an untrusted repository. Returns null if the path is
 * missing, is a link, a device or a FIFO, or if the file is larger than `maxBytes`. Does not block on a FIFO.
 */
export function readSmallFile(file: string, maxBytes: number): string | null {
  let handle: number;
  try {
    handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    // The file is missing, is a link, or is not readable for this user.
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
