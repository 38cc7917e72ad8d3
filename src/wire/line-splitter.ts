const lineBreak = 0x0a;
const firstBytes = 4096;

/** Yields the position after each line break. */
export function* lineEndsIn(bytes: Uint8Array): Generator<number> {
  for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, at + 1)) yield at + 1;
}

/**
 * Splits a stream of bytes into lines, and never holds more than one line of the maximum length in memory. It
 * copies the start of an incomplete line, because a view of it would keep the whole received chunk in memory.
 */
export class LineSplitter {
  readonly #maxLength: number;
  #kept = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;
  #isTooLong = false;

  /** `maxLength` is the maximum length of a line in bytes, including its line break. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * Yields the lines that end in the chunk `piece`, without their line breaks, and null for each line that is
   * too long. The bytes of a line are valid only until the caller requests the next line.
   */
  *split(piece: Uint8Array): Generator<Uint8Array | null> {
    let start = 0;
    for (let end = piece.indexOf(lineBreak); end >= 0; end = piece.indexOf(lineBreak, start)) {
      const part = piece.subarray(start, end);
      start = end + 1;
      const wasTooLong = this.#isTooLong;
      const isTooLong = wasTooLong || this.#length + part.length + 1 > this.#maxLength;
      const line = isTooLong || this.#length === 0 ? part : this.#keep(part);
      this.#length = 0;
      this.#isTooLong = false;
      if (!isTooLong) yield line;
      else if (!wasTooLong) yield null;
    }
    const rest = piece.subarray(start);
    if (rest.length === 0 || this.#isTooLong) return;
    if (this.#length + rest.length >= this.#maxLength) {
      this.#isTooLong = true;
      this.#length = 0;
      yield null;
    } else this.#keep(rest);
  }

  /**
   * Returns the last line if the stream ended without a line break; null if this line is empty or too long.
   */
  rest(): Uint8Array | null {
    return this.#length === 0 ? null : this.#kept.subarray(0, this.#length);
  }

  #keep(part: Uint8Array): Uint8Array {
    const length = this.#length + part.length;
    if (length > this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.min(this.#maxLength, Math.max(length, 2 * this.#kept.length)),
      );
      larger.set(this.#kept.subarray(0, this.#length));
      this.#kept = larger;
    }
    this.#kept.set(part, this.#length);
    this.#length = length;
    return this.#kept.subarray(0, length);
  }
}
