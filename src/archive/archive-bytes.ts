import { archiveRefusedError } from "./archive-refused.ts";

/**
 * Reads the bytes of a tar archive on demand, without buffering the whole archive. `entry` is the name of the
 * current entry, which error messages show.
 */
export interface ArchiveByteReader {
  /** Returns the next bytes of the archive, at most `maxBytes`, or undefined at the archive's end. */
  next(maxBytes: number): Promise<Uint8Array | undefined>;
  /**
   * Returns the next bytes of the archive, at most `maxBytes`. Throws ARCHIVE_REFUSED at the archive's end.
   */
  take(maxBytes: number, entry: string): Promise<Uint8Array>;
  /**
   * Returns the next `length` bytes in one piece. Throws ARCHIVE_REFUSED if the archive has fewer bytes left.
   */
  read(length: number, entry: string): Promise<Uint8Array>;
  skip(length: number, entry: string): Promise<void>;
  close(): Promise<void>;
}

export function createArchiveByteReader(archive: AsyncIterable<Uint8Array>): ArchiveByteReader {
  const source = archive[Symbol.asyncIterator]();
  let piece: Uint8Array = new Uint8Array();
  return { next, take, read, skip, close };

  async function next(maxBytes: number): Promise<Uint8Array | undefined> {
    while (piece.length === 0) {
      const pulled = await source.next();
      if (pulled.done) return undefined;
      piece = pulled.value;
    }
    const taken = piece.subarray(0, maxBytes);
    piece = piece.subarray(taken.length);
    return taken;
  }

  async function take(maxBytes: number, entry: string): Promise<Uint8Array> {
    const taken = await next(maxBytes);
    if (!taken) throw archiveRefusedError(entry, "the archive is truncated");
    return taken;
  }

  async function read(length: number, entry: string): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0; left -= parts.at(-1)?.length ?? 0) parts.push(await take(left, entry));
    const [only] = parts;
    return parts.length === 1 && only ? only : Buffer.concat(parts);
  }

  async function skip(length: number, entry: string): Promise<void> {
    for (let left = length; left > 0; ) left -= (await take(left, entry)).length;
  }

  async function close(): Promise<void> {
    await source.return?.();
  }
}
