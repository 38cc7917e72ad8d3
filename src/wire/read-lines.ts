import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import ndjson from "ndjson";
import { LineSplitter } from "./line-splitter.ts";

/**
 * Yields the JSON values of a stream that has one value per line. Drops lines that are not JSON or are longer
 * than `maxLineLength`. A caller that must notice such lines uses `readMessages` instead.
 */
export async function* readJsonLines(
  source: Readable,
  { maxLineLength }: { maxLineLength: number },
): AsyncGenerator<unknown> {
  const parsed = ndjson.parse({ strict: false });
  const done = pipeline(source, boundLines(maxLineLength), parsed).catch((error: Error) =>
    parsed.destroy(error),
  );
  for await (const message of parsed) yield message;
  await done;
}

/**
 * Creates a transform stream that drops lines that are too long, and passes other lines on. Without it, the
 * parser `ndjson` would hold a line of any length in memory.
 */
function boundLines(maxLength: number): Transform {
  const cutter = new LineSplitter(maxLength);
  const lineBreak = Buffer.from("\n");
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const line of cutter.split(chunk)) if (line) this.push(Buffer.concat([line, lineBreak]));
      done();
    },
    flush(done) {
      const rest = cutter.rest();
      if (rest) this.push(Buffer.from(rest));
      done();
    },
  });
}
