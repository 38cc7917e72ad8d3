/** The receiver of the data in a stream of server-sent events. */
export interface EventTaker {
  /** Receives the next piece of an event's data. */
  data(bytes: Uint8Array): void;
  /** Ends an event that had data. */
  end(): void;
}

const [lineFeed, carriageReturn, colon, space] = [0x0a, 0x0d, 0x3a, 0x20];
const lineBreak = Uint8Array.of(lineFeed);
const maxNameLength = 8;

/** Extracts the data from a stream of server-sent events, however it is split, without buffering it. */
export class EventCutter {
  readonly #taker: EventTaker;
  #place: "name" | "before-data" | "data" | "other" = "name";
  #name = "";
  #isFirstLine = true;
  #lines = 0;
  #wasReturn = false;

  constructor(taker: EventTaker) {
    this.#taker = taker;
  }

  add(bytes: Uint8Array): void {
    let dataFrom = 0;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      const isSecond = this.#wasReturn && byte === lineFeed;
      this.#wasReturn = byte === carriageReturn;
      if (isSecond) continue;
      if (byte === lineFeed || byte === carriageReturn) {
        if (this.#place === "data") this.#give(bytes, dataFrom, index);
        this.#endLine();
      } else if (this.#place === "name") this.#passName(byte);
      else if (this.#place === "before-data") {
        this.#place = "data";
        dataFrom = byte === space ? index + 1 : index;
      }
    }
    if (this.#place === "data") this.#give(bytes, dataFrom, bytes.length);
  }

  /** Ends the last event, which needs no blank line after it. */
  finish(): void {
    this.#endEvent();
  }

  #give(bytes: Uint8Array, from: number, to: number): void {
    if (to > from) this.#taker.data(bytes.subarray(from, to));
  }

  #passName(byte: number): void {
    if (byte !== colon) {
      if (this.#name.length < maxNameLength) this.#name += String.fromCharCode(byte);
      return;
    }
    this.#place = this.#isData() ? "before-data" : "other";
    if (this.#place === "other") return;
    if (this.#lines > 0) this.#taker.data(lineBreak);
    this.#lines += 1;
  }

  #isData(): boolean {
    // A byte order mark may precede the first line.
    return this.#name === "data" || (this.#isFirstLine && this.#name === "\xef\xbb\xbfdata");
  }

  #endLine(): void {
    if (this.#place === "name" && this.#name === "") this.#endEvent();
    this.#place = "name";
    this.#name = "";
    this.#isFirstLine = false;
  }

  #endEvent(): void {
    if (this.#lines > 0) this.#taker.end();
    this.#lines = 0;
  }
}
