/**
 * Collects text that arrives in parts, and stores at most `limit` characters: the first half of the limit
 * from the text's beginning, the rest from its end.
 */
export class BoundedText {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  // `ignoreBOM: true` keeps a byte order mark in the text: the program wrote it, like any other character.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #head = "";
  #tail = "";
  #length = 0;

  constructor(limit: number) {
    this.#tailLimit = Math.floor(limit / 2);
    this.#headLimit = limit - this.#tailLimit;
  }

  add(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * Returns the text unchanged if it is within the limit. Otherwise returns the text's beginning and end,
   * and between them a line with the number of omitted characters.
   */
  finish(): { readonly text: string; readonly isCut: boolean; readonly length: number } {
    this.#take(this.#decoder.decode());
    const length = this.#length;
    const end = lastOf(this.#tail, this.#tailLimit);
    if (this.#head.length + end.length >= length) return { text: this.#head + end, isCut: false, length };
    // A cut can split a surrogate pair. The remaining half is no valid character, so remove it.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, "");
    const tail = end.replace(/^[\uDC00-\uDFFF]/, "");
    const missing = length - head.length - tail.length;
    return { text: `${head}\n… ${missing} characters left out …\n${tail}`, isCut: true, length };
  }

  #take(text: string): void {
    this.#length += text.length;
    const room = Math.max(0, this.#headLimit - this.#head.length);
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Shortens the tail only when it is far too long: that is cheaper than to copy it for every chunk.
    if (this.#tail.length > 4 * this.#tailLimit + 65_536) this.#tail = lastOf(this.#tail, this.#tailLimit);
  }
}

/**
 * Returns the last `count` characters of a text. If `count` is 0, returns an empty text, unlike `slice(-0)`.
 */
function lastOf(text: string, count: number): string {
  return count === 0 ? "" : text.slice(-count);
}
