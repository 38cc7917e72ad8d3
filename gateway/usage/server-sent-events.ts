/** Receives the data of each event in a stream of server-sent events. */
export interface ServerSentEventReceiver {
  /** Called with each further piece of the current event's data. */
  data(bytes: Uint8Array): void;
  /** Called at the end of each event that contains data. */
  end(): void;
}

const [lineFeed, carriageReturn, colon, space] = [0x0a, 0x0d, 0x3a, 0x20];
const lineBreak = Uint8Array.of(lineFeed);
const maxNameLength = 8;

/**
 * Extracts the data of each event from a stream of server-sent events, and passes the data on without
 * buffering it. The stream may arrive in pieces of any size.
 */
export class ServerSentEventParser {
  readonly #receiver: ServerSentEventReceiver;
  #state: "name" | "before-data" | "data" | "other" = "name";
  #name = "";
  #isFirstLine = true;
  #lines = 0;
  #wasReturn = false;

  constructor(receiver: ServerSentEventReceiver) {
    this.#receiver = receiver;
  }

  add(bytes: Uint8Array): void {
    let dataFrom = 0;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      const isSecond = this.#wasReturn && byte === lineFeed;
      this.#wasReturn = byte === carriageReturn;
      if (isSecond) continue;
      if (byte === lineFeed || byte === carriageReturn) {
        if (this.#state === "data") this.#give(bytes, dataFrom, index);
        this.#endLine();
      } else if (this.#state === "name") this.#passName(byte);
      else if (this.#state === "before-data") {
        this.#state = "data";
        dataFrom = byte === space ? index + 1 : index;
      }
    }
    if (this.#state === "data") this.#give(bytes, dataFrom, bytes.length);
  }

  /** Ends the current event. Call this function at the end of the stream, whose last event may lack a blank line. */
  endEvent(): void {
    if (this.#lines > 0) this.#receiver.end();
    this.#lines = 0;
  }

  #give(bytes: Uint8Array, from: number, to: number): void {
    if (to > from) this.#receiver.data(bytes.subarray(from, to));
  }

  #passName(byte: number): void {
    if (byte !== colon) {
      if (this.#name.length < maxNameLength) this.#name += String.fromCharCode(byte);
      return;
    }
    // Accepts a byte order mark before the first line of the stream.
    const isData = this.#name === "data" || (this.#isFirstLine && this.#name === "\xef\xbb\xbfdata");
    this.#state = isData ? "before-data" : "other";
    if (!isData) return;
    if (this.#lines > 0) this.#receiver.data(lineBreak);
    this.#lines += 1;
  }

  #endLine(): void {
    if (this.#state === "name" && this.#name === "") this.endEvent();
    this.#state = "name";
    this.#name = "";
    this.#isFirstLine = false;
  }
}
