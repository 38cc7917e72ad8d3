import { isUtf8 } from "node:buffer";
import { LineSplitter } from "./line-splitter.ts";

/**
 * A line of an untrusted stream, as its JSON value or as the reason why the line is invalid. `bytes` is the
 * length of the line, including its line break.
 */
export type WireLine =
  | { readonly kind: "value"; readonly value: unknown; readonly bytes: number }
  | { readonly kind: "violation"; readonly reason: string };

export interface WireLimits {
  /** The maximum length of a line in bytes, including its line break. */
  readonly maxLineLength: number;
  /** The maximum nesting depth of objects and lists. */
  readonly maxDepth: number;
}

/** The maximum number of lines in one group that `readMessages` yields. */
const maxLines = 256;

/**
 * Yields the JSON values of a stream in groups, as they arrive, and stops after the first invalid line. A
 * line is invalid if it is too long, not UTF-8, empty, nested too deep or not JSON. Silently drops an
 * incomplete last line.
 */
export async function* readMessages(
  source: AsyncIterable<Uint8Array>,
  { maxLineLength, maxDepth }: WireLimits,
): AsyncGenerator<readonly WireLine[]> {
  const cutter = new LineSplitter(maxLineLength);
  for await (const piece of source) {
    let group: WireLine[] = [];
    for (const bytes of cutter.split(piece)) {
      const line: WireLine = bytes
        ? readLine(bytes, maxDepth)
        : { kind: "violation", reason: `a line is longer than ${maxLineLength} bytes` };
      group.push(line);
      if (line.kind === "violation") {
        yield group;
        return;
      }
      if (group.length === maxLines) {
        yield group;
        group = [];
      }
    }
    if (group.length > 0) yield group;
  }
}

function readLine(bytes: Uint8Array, maxDepth: number): WireLine {
  if (!isUtf8(bytes)) return { kind: "violation", reason: "a line is not UTF-8" };
  // Check the depth first: the parser is recursive and would build every level before the value could be
  // checked.
  if (isDeeperThan(bytes, maxDepth))
    return { kind: "violation", reason: `a line is nested deeper than ${maxDepth} levels` };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (text.trim() === "") return { kind: "violation", reason: "a line is empty" };
  try {
    return { kind: "value", value: JSON.parse(text), bytes: bytes.length + 1 };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "violation", reason: "a line is not JSON" };
  }
}

/**
 * Returns whether JSON text is nested deeper than `maxDepth`. Does not parse the text, but counts the
 * brackets outside of strings.
 */
function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
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
      if (depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}
