/** Buffers one value of a JSON text that arrives in pieces. */
export class BufferedJsonValue {
  readonly path: string;
  /** The offset of the value's first byte in the whole JSON text. */
  readonly start: number;
  #from: number;
  #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;
  #isTooLong = false;

  /**
   * `from` is the offset of the value in the current piece. `maxBytes` is the maximum length of the value; a
   * longer value is dropped.
   */
  constructor(path: string, start: number, from: number, maxBytes: number) {
    this.path = path;
    this.start = start;
    this.#from = from;
    this.#maxBytes = maxBytes;
  }

  /** The number of bytes of the value that are buffered. */
  get length(): number {
    return this.#isTooLong ? 0 : this.#length;
  }

  /**
   * Appends the part of a piece of the JSON text that belongs to the value. Copies the bytes, since the
   * caller may reuse the piece's buffer.
   */
  take(bytes: Uint8Array, end: number = bytes.length): void {
    this.#length += end - this.#from;
    this.#isTooLong ||= this.#length > this.#maxBytes;
    if (this.#isTooLong) this.#parts = [];
    else if (end > this.#from) this.#parts.push(new Uint8Array(bytes.subarray(this.#from, end)));
    this.#from = 0;
  }

  /** Returns the parsed value. Returns undefined if the value is too long or is not valid JSON. */
  value(): unknown {
    return this.#isTooLong ? undefined : parseJsonOrUndefined(Buffer.concat(this.#parts).toString());
  }
}

/** Parses a JSON text. Returns undefined if the text is not valid JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
