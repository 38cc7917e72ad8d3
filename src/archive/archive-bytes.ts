import { archiveRefusedError } from "./archive-refused.ts";

/**
 * Reads the bytes of a tar archive on demand, without buffering the whole archive. `entry` is the name of the
 * current entry, which error messages show.
 */
export class ArchiveByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array();

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#source = archive[Symbol.asyncIterator]();
  }

  /** Returns the next bytes of the archive, at most `maxBytes`, or undefined at the archive's end. */
  async next(maxBytes: number): Promise<Uint8Array | undefined> {
    while (this.#piece.length === 0) {
      const pulled = await this.#source.next();
      if (pulled.done) return undefined;
      this.#piece = pulled.value;
    }
    const taken = this.#piece.subarray(0, maxBytes);
    this.#piece = this.#piece.subarray(taken.length);
    return taken;
  }

  /**
   * Returns the next bytes of the archive, at most `maxBytes`. Throws ARCHIVE_REFUSED at the archive's end.
   */
  async take(maxBytes: number, entry: string): Promise<Uint8Array> {
    const taken = await this.next(maxBytes);
    if (!taken) throw archiveRefusedError(entry, "the archive is truncated");
    return taken;
  }

  /**
   * Returns the next `length` bytes in one piece. Throws ARCHIVE_REFUSED if the archive has fewer bytes left.
   */
  async read(length: number, entry: string): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0; left -= parts.at(-1)?.length ?? 0)
      parts.push(await this.take(left, entry));
    const [only] = parts;
    return parts.length === 1 && only ? only : Buffer.concat(parts);
  }

  async skip(length: number, entry: string): Promise<void> {
    for (let left = length; left > 0; ) left -= (await this.take(left, entry)).length;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
