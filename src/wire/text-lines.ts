import { LineSplitter } from "./line-splitter.ts";

/**
 * Yields the lines of a stream as text, without their line breaks. Drops a line longer than `maxLength`,
 * without holding it in memory.
 */
export async function* textLines(
  source: AsyncIterable<Uint8Array>,
  { maxLength }: { readonly maxLength: number },
): AsyncGenerator<string> {
  // Add one, because the cutter's maximum includes the line break.
  const cutter = new LineSplitter(maxLength + 1);
  for await (const piece of source) {
    for (const line of cutter.split(piece)) if (line) yield textOf(line);
  }
  const last = cutter.rest();
  if (last) yield textOf(last);
}

function textOf(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.length).toString("utf8").replace(/\r$/, "");
}

/** Yields the value of a line of JSON; yields nothing for a line that is not JSON. */
export function* parseJsonLine(line: string): Generator<unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return;
  }
  yield value;
}

/**
 * Yields the lines of a stream as JSON values. Drops a line that is not JSON, for example the incomplete last
 * line that a killed process wrote.
 */
export async function* jsonLines(
  source: AsyncIterable<Uint8Array>,
  options: { readonly maxLength: number },
): AsyncGenerator<unknown> {
  for await (const line of textLines(source, options)) yield* parseJsonLine(line);
}
