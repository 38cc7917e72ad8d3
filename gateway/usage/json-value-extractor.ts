import { BufferedJsonValue, parseJsonOrUndefined } from "./buffered-json-value.ts";
import {
  buildWantedPathTree,
  type ExtractedJsonRecord,
  type ExtractedJsonValue,
  type WantedPathTree,
} from "./extracted-values.ts";

interface Level {
  readonly isObject: boolean;
  readonly interest: WantedPathTree;
  /**
   * The part of the tree of wanted paths for the next value at this level; undefined if no wanted path leads
   * to that value.
   */
  next: WantedPathTree | undefined;
  expectsKey: boolean;
}

const maxKeyLength = 128;
const maxValueLength = 64 << 10;
const maxKept = 256 << 10;
const maxValues = 10_000;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Extracts the values at the wanted paths from a JSON text of any length and nesting, and buffers only these
 * values. Each object in a top-level array, and each of several concatenated JSON texts, is a separate
 * record.
 */
export class JsonValueExtractor {
  readonly #root: WantedPathTree;
  readonly #take: (record: ExtractedJsonRecord) => void;
  #levels: Level[] = [];
  /** The nesting depth within a value that the parser skips or buffers as a whole; 0 outside such a value. */
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #key: number[] | null = null;
  #kept: BufferedJsonValue | null = null;
  #inScalar = false;
  #isBroken = false;
  #closed = 0;
  #at = 0;
  #recordStart = 0;
  #values = new Map<string, ExtractedJsonValue[]>();
  #bytesLeft = maxKept;
  #isCut = false;

  constructor(paths: readonly string[], take: (record: ExtractedJsonRecord) => void) {
    this.#root = buildWantedPathTree(paths);
    this.#take = take;
  }

  add(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length && !this.#isBroken; index += 1) {
      if (this.#inString) index = this.#passString(bytes, index);
      else this.#passByte(bytes[index] ?? 0, bytes, index);
    }
    this.#kept?.take(bytes);
    this.#at += bytes.length;
  }

  /**
   * Ends the JSON text and resets the parser. Returns whether the text was exactly one complete object or
   * array.
   */
  end(): boolean {
    const isOver = this.#levels.length === 0 && !this.#inString && !this.#inScalar;
    const isWhole = this.#closed === 1 && isOver && !this.#isBroken;
    this.#levels = [];
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
    this.#key = null;
    this.#kept = null;
    this.#inScalar = false;
    this.#isBroken = false;
    this.#closed = 0;
    return isWhole;
  }

  /**
   * Reads a JSON string until it ends or the given bytes end. Returns the index of the last byte that was
   * read.
   */
  #passString(bytes: Uint8Array, from: number): number {
    const key = this.#key;
    let isEscaped = this.#isEscaped;
    let index = from;
    for (; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      if (byte === quote && !isEscaped) {
        this.#inString = false;
        break;
      }
      isEscaped = byte === backslash && !isEscaped;
      if (key !== null && key.length <= maxKeyLength) key.push(byte);
    }
    this.#isEscaped = isEscaped && this.#inString;
    if (this.#inString) return index;
    if (key !== null) this.#endKey(key);
    else if (this.#depth === 0) this.#endValue(bytes, index + 1);
    return index;
  }

  #passByte(byte: number, bytes: Uint8Array, index: number): void {
    if (!isMark(byte)) {
      if (this.#inScalar || isSpace(byte)) {
        if (isSpace(byte)) this.#endScalar(bytes, index);
        return;
      }
      this.#inScalar = true;
      if (this.#levels.length === 0) this.#isBroken ||= this.#closed > 0;
      else if (this.#depth === 0) this.#beginValue(index);
      return;
    }
    this.#endScalar(bytes, index);
    if (byte === quote) this.#openString(index);
    else if (byte === openObject || byte === openArray) this.#open(byte === openObject, index);
    else if (byte === closeObject || byte === closeArray) this.#close(byte === closeObject, bytes, index);
    else this.#passSeparator(byte);
  }

  #endScalar(bytes: Uint8Array, end: number): void {
    if (!this.#inScalar) return;
    this.#inScalar = false;
    if (this.#depth === 0) this.#endValue(bytes, end);
  }

  #openString(index: number): void {
    this.#inString = true;
    if (this.#depth > 0) return;
    if (this.#levels.at(-1)?.expectsKey) this.#key = [];
    else this.#beginValue(index);
  }

  #passSeparator(byte: number): void {
    const level = this.#levels.at(-1);
    if (this.#depth === 0 && level?.isObject) level.expectsKey = byte === comma;
  }

  #open(isObject: boolean, index: number): void {
    if (this.#depth > 0) {
      this.#depth += 1;
      return;
    }
    const level = this.#levels.at(-1);
    const isInRootArray = this.#levels.length === 1 && level?.isObject === false;
    if (level === undefined || (isInRootArray && isObject)) {
      if (isObject) {
        this.#recordStart = this.#at + index;
        this.#values = new Map();
        this.#bytesLeft = maxKept;
        this.#isCut = false;
      }
      this.#levels.push({ isObject, interest: this.#root, next: undefined, expectsKey: isObject });
      return;
    }
    const interest = level.next;
    this.#beginValue(index);
    if (interest === undefined || interest.isWanted || interest.below.size === 0) this.#depth = 1;
    else {
      const next = isObject ? undefined : interest.below.get("*");
      this.#levels.push({ isObject, interest, next, expectsKey: isObject });
    }
  }

  #close(isObject: boolean, bytes: Uint8Array, index: number): void {
    if (this.#depth > 0) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#endValue(bytes, index + 1);
      return;
    }
    const level = this.#levels.pop();
    this.#isBroken = level === undefined || level.isObject !== isObject;
    if (this.#isBroken) return;
    if (this.#levels.length === 0) this.#closed += 1;
    if (isObject && level?.interest === this.#root)
      this.#take({ start: this.#recordStart, values: this.#values, isCut: this.#isCut });
  }

  #endKey(key: readonly number[]): void {
    this.#key = null;
    const level = this.#levels.at(-1);
    if (level) level.next = key.length > maxKeyLength ? undefined : level.interest.below.get(textOf(key));
  }

  #beginValue(index: number): void {
    const interest = this.#levels.at(-1)?.next;
    if (interest === undefined) return;
    const start = this.#at + index;
    if (interest.wantsPresence) this.#note(interest.path, { value: undefined, start, end: start });
    const maxBytes = Math.min(maxValueLength, this.#bytesLeft);
    if (interest.isWanted) this.#kept = new BufferedJsonValue(interest.path, start, index, maxBytes);
  }

  #endValue(bytes: Uint8Array, end: number): void {
    const kept = this.#kept;
    if (kept === null) return;
    this.#kept = null;
    kept.take(bytes, end);
    this.#bytesLeft -= kept.length;
    const maxBytes = Math.min(maxValueLength, this.#bytesLeft);
    this.#isCut ||= kept.length === 0 && maxBytes < maxValueLength;
    this.#note(kept.path, { value: kept.value(), start: kept.start, end: this.#at + end });
  }

  #note(path: string, picked: ExtractedJsonValue): void {
    const values = this.#values.get(path);
    if (values === undefined) this.#values.set(path, [picked]);
    else if (values.length < maxValues) values.push(picked);
    else values[maxValues - 1] = picked;
  }
}

function isMark(byte: number): boolean {
  return (
    byte === quote ||
    byte === comma ||
    byte === colon ||
    byte === openObject ||
    byte === closeObject ||
    byte === openArray ||
    byte === closeArray
  );
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function textOf(key: readonly number[]): string {
  const text = Buffer.from(key).toString();
  if (!text.includes("\\")) return text;
  const decoded = parseJsonOrUndefined(`"${text}"`);
  return typeof decoded === "string" ? decoded : "";
}
