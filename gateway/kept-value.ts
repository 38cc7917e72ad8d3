/** One value of a JSON text that arrives in pieces. */
export class KeptValue {
  readonly path: string;
  /** The offset of its first byte in the text. */
  readonly start: number;
  #from: number;
  #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;
  #isTooLong = false;

  /** `from`: the offset of the value in the current piece. `maxBytes`: the limit beyond which the value is dropped. */
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

  /** The number of bytes buffered. */
  get length(): number {
    return this.#isTooLong ? 0 : this.#length;
  }

  /** Appends the value's part of a piece, as a copy: the caller may reuse the piece's buffer. */
  take(bytes: Uint8Array, end: number = bytes.length): void {
    this.#length += end - this.#from;
    this.#isTooLong ||= this.#length > this.#maxBytes;
    if (this.#isTooLong) this.#parts = [];
    else if (end > this.#from) this.#parts.push(new Uint8Array(bytes.subarray(this.#from, end)));
    this.#from = 0;
  }

  /** The parsed value; undefined when it is too long or invalid. */
  value(): unknown {
    return this.#isTooLong ? undefined : parsedJson(Buffer.concat(this.#parts).toString());
  }
}

/** The parsed text; undefined when it is invalid JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
