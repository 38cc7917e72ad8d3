import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import ndjson from "ndjson";
import { LineCutter } from "./line-cutter.ts";

/**
 * The JSON objects of a stream, one for each line, in order. A line longer than `longestLine` is dropped without being
 * kept in memory; a line that is not JSON is dropped as well, for a torn last line is the ordinary trace of a kill.
 * Whoever must know of them reads with `readMessages`.
 */
export async function* readLines(
  source: Readable,
  { longestLine }: { longestLine: number },
): AsyncGenerator<unknown> {
  const parsed = ndjson.parse({ strict: false });
  const done = pipeline(source, boundLines(longestLine), parsed).catch((error: Error) =>
    parsed.destroy(error),
  );
  for await (const message of parsed) yield message;
  await done;
}

/** Passes lines through and leaves out those that are too long. The packages of this trade keep a line however long it gets. */
function boundLines(longest: number): Transform {
  const cutter = new LineCutter(longest);
  const lineBreak = Buffer.from("\n");
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const line of cutter.cut(chunk)) if (line) this.push(Buffer.concat([line, lineBreak]));
      done();
    },
    flush(done) {
      const rest = cutter.rest();
      if (rest) this.push(Buffer.from(rest));
      done();
    },
  });
}
