/** Buffers one value of a JSON text whose pieces arrive one after another. */
export class BufferedJsonValue {
  readonly path: string;
  /** The offset of the value's first byte in the whole text. */
  readonly start: number;
  #from: number;
  #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;
  #isTooLong = false;

  /**
   * `from`: the offset of the value in the current piece. `maxBytes`: the maximum length of the value; a longer value
   * is dropped.
   */
  constructor({
    path,
    start,
    from,
    maxBytes,
  }: Readonly<{ path: string; start: number; from: number; maxBytes: number }>) {
    this.path = path;
    this.start = start;
    this.#from = from;
    this.#maxBytes = maxBytes;
  }

  /** The number of buffered bytes of the value. */
  get length(): number {
    return this.#isTooLong ? 0 : this.#length;
  }

  /** Appends the part of a piece that belongs to the value. Copies it, since the caller may reuse the piece's buffer. */
  take(bytes: Uint8Array, end: number = bytes.length): void {
    this.#length += end - this.#from;
    this.#isTooLong ||= this.#length > this.#maxBytes;
    if (this.#isTooLong) this.#parts = [];
    else if (end > this.#from) this.#parts.push(new Uint8Array(bytes.subarray(this.#from, end)));
    this.#from = 0;
  }

  /** Returns the parsed value; undefined if the value is too long or invalid. */
  value(): unknown {
    return this.#isTooLong ? undefined : parseJsonOrUndefined(Buffer.concat(this.#parts).toString());
  }
}

/** Parses a JSON text. Returns undefined if it is invalid. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
