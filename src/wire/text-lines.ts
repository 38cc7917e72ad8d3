import { LineCutter } from "./line-cutter.ts";

/** Lines of a stream as text, without their breaks. A line longer than `longest` is left out without being kept. */
export async function* textLines(
  source: AsyncIterable<Uint8Array>,
  { longest }: { readonly longest: number },
): AsyncGenerator<string> {
  // The cutter counts the line break.
  const cutter = new LineCutter(longest + 1);
  for await (const piece of source) {
    for (const line of cutter.cut(piece)) if (line) yield textOf(line);
  }
  const last = cutter.rest();
  if (last) yield textOf(last);
}

function textOf(line: Uint8Array): string {
  return Buffer.from(line.buffer, line.byteOffset, line.length).toString("utf8").replace(/\r$/, "");
}

/** The same as JSON; a line that is none is left out, for a torn one is the ordinary trace of a kill. */
export async function* jsonLines(
  source: AsyncIterable<Uint8Array>,
  options: { readonly longest: number },
): AsyncGenerator<unknown> {
  for await (const line of textLines(source, options)) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    yield value;
  }
}
