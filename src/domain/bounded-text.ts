/** Keeps the beginning and the end of a text of any length, within a limit. */
export class BoundedText {
  readonly #limit: number;
  // Keeps a byte order mark: the program wrote it, like any other character.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #head = "";
  #tail = "";
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The whole text, or its head and tail with a mark between them that states how much is missing. */
  finish(): { readonly text: string; readonly isCut: boolean; readonly length: number } {
    this.#take(this.#decoder.decode());
    const length = this.#length;
    const end = lastOf(this.#tail, this.#tailLimit());
    if (this.#head.length + end.length >= length) return { text: this.#head + end, isCut: false, length };
    // Removes the half of a surrogate pair that a cut leaves.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, "");
    const tail = end.replace(/^[\uDC00-\uDFFF]/, "");
    const missing = length - head.length - tail.length;
    return { text: `${head}\n… ${missing} characters left out …\n${tail}`, isCut: true, length };
  }

  #take(text: string): void {
    this.#length += text.length;
    const room = this.#limit - this.#tailLimit() - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    this.#tail += text.slice(Math.max(0, room));
    // Cutting rarely is cheaper than cutting at every chunk.
    if (this.#tail.length > 4 * this.#tailLimit() + 65_536)
      this.#tail = lastOf(this.#tail, this.#tailLimit());
  }

  #tailLimit(): number {
    return Math.floor(this.#limit / 2);
  }
}

/** The last `count` characters; `slice(-0)` would return the whole text. */
function lastOf(text: string, count: number): string {
  return count === 0 ? "" : text.slice(-count);
}
