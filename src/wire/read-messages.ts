import { isUtf8 } from "node:buffer";
import { LineCutter } from "./line-cutter.ts";

/** A line of an untrusted stream: its JSON value, or why it has none. `bytes` includes the line break. */
export type WireLine =
  | { readonly kind: "value"; readonly value: unknown; readonly bytes: number }
  | { readonly kind: "violation"; readonly reason: string };

export interface WireLimits {
  /** Longest accepted line in bytes, with its line break. */
  readonly maxLineLength: number;
  /** Deepest accepted nesting of objects and lists. */
  readonly maxDepth: number;
}

/** Maximum lines of a group, however short they are. */
const maxLines = 256;

/**
 * Yields the JSON values of a stream, in order and grouped as they arrive, up to the first violation: a line
 * that is too long, not UTF-8, empty, nested too deep or not JSON. It reads nothing after a violation. A
 * stream that ends within a line was cut off, which is no violation; that line is dropped. (`ndjson` checks
 * neither UTF-8 nor depth, and its stream fails at an invalid line.)
 */
export async function* readMessages(
  source: AsyncIterable<Uint8Array>,
  { maxLineLength, maxDepth }: WireLimits,
): AsyncGenerator<readonly WireLine[]> {
  const cutter = new LineCutter(maxLineLength);
  for await (const piece of source) {
    let group: WireLine[] = [];
    for (const bytes of cutter.cut(piece)) {
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
  // The parser is recursive and would build every level before a check of the value could run.
  if (isDeeperThan(bytes, maxDepth))
    return { kind: "violation", reason: `a line is nested deeper than ${maxDepth}` };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (text.trim() === "") return { kind: "violation", reason: "a line is empty" };
  try {
    return { kind: "value", value: JSON.parse(text), bytes: bytes.length + 1 };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "violation", reason: "a line is not JSON" };
  }
}

/** Whether brackets outside of strings nest deeper than `deepest`, found by a scan of the bytes. */
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
