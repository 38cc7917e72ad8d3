/** One value of a JSON text, whose bytes may come in many pieces. */
export class KeptValue {
  readonly path: string;
  /** Where it begins among all bytes of the text. */
  readonly start: number;
  #from: number;
  #room: number;
  #parts: Uint8Array[] = [];
  #length = 0;
  #isTooLong = false;

  /** `from`: where it begins in the piece at hand. `room`: a longer one is not kept. */
  constructor({
    path,
    start,
    from,
    room,
  }: Readonly<{ path: string; start: number; from: number; room: number }>) {
    this.path = path;
    this.start = start;
    this.#from = from;
    this.#room = room;
  }

  /** The bytes that are held for it. */
  get length(): number {
    return this.#isTooLong ? 0 : this.#length;
  }

  /** Copies what it has of a piece: the bytes are not ours. In the next piece it goes on at the beginning. */
  take(bytes: Uint8Array, end: number = bytes.length): void {
    this.#length += end - this.#from;
    this.#isTooLong ||= this.#length > this.#room;
    if (this.#isTooLong) this.#parts = [];
    else if (end > this.#from) this.#parts.push(new Uint8Array(bytes.subarray(this.#from, end)));
    this.#from = 0;
  }

  /** Undefined for what was too long, or is no JSON. */
  value(): unknown {
    return this.#isTooLong ? undefined : parsedJson(Buffer.concat(this.#parts).toString());
  }
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
