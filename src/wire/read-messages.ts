import { isUtf8 } from "node:buffer";
import { LineCutter } from "./line-cutter.ts";

/** A line of a stream that nobody trusts: its JSON value, or why it has none. `bytes` counts its line break. */
export type WireLine =
  | { readonly kind: "value"; readonly value: unknown; readonly bytes: number }
  | { readonly kind: "violation"; readonly reason: string };

export interface WireLimits {
  /** In bytes, with the line break. */
  readonly longestLine: number;
  /** Objects and lists inside each other. */
  readonly deepest: number;
}

/** So many lines are given at a time at most, however small they are. */
const mostLines = 256;

/**
 * The JSON values of a stream, in order and in groups as they came, and the first line that is not one: too long, not
 * UTF-8, empty, nested too deep or no JSON. Nothing is read after it, and nothing of it is kept. A stream that ends within
 * a line was cut off, which is no one's fault; that line is left out.
 * (`ndjson` tells neither of bytes that are no text nor of depth, and turns its stream into an error at a bad line.)
 */
export async function* readMessages(
  source: AsyncIterable<Uint8Array>,
  { longestLine, deepest }: WireLimits,
): AsyncGenerator<readonly WireLine[]> {
  const cutter = new LineCutter(longestLine);
  for await (const piece of source) {
    let group: WireLine[] = [];
    for (const bytes of cutter.cut(piece)) {
      const line: WireLine = bytes
        ? readLine(bytes, deepest)
        : { kind: "violation", reason: `a line is longer than ${longestLine} bytes` };
      group.push(line);
      if (line.kind === "violation") {
        yield group;
        return;
      }
      if (group.length === mostLines) {
        yield group;
        group = [];
      }
    }
    if (group.length > 0) yield group;
  }
}

function readLine(bytes: Uint8Array, deepest: number): WireLine {
  if (!isUtf8(bytes)) return { kind: "violation", reason: "a line is not UTF-8" };
  // The parser is recursive and would be asked to make every level first.
  if (isDeeperThan(bytes, deepest))
    return { kind: "violation", reason: `a line is nested deeper than ${deepest}` };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (text.trim() === "") return { kind: "violation", reason: "a line is empty" };
  try {
    return { kind: "value", value: JSON.parse(text), bytes: bytes.length + 1 };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "violation", reason: "a line is not JSON" };
  }
}

/** Whether brackets outside of strings are opened deeper than that, by looking at bytes only. */
function isDeeperThan(bytes: Uint8Array, deepest: number): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isString) {
      if (byte === 0x5c) at += 1;
      else if (byte === 0x22) isString = false;
    } else if (byte === 0x22) isString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > deepest) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}
