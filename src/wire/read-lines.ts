import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import ndjson from "ndjson";

const lineBreak = 0x0a;

/**
 * The JSON objects of a stream, one for each line, in order. A line longer than `longestLine` is dropped without being
 * kept in memory; a line that is not JSON is dropped as well, for a torn last line is the ordinary trace of a kill.
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
  let kept: Buffer[] = [];
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let end = chunk.indexOf(lineBreak); end >= 0; end = chunk.indexOf(lineBreak, start)) {
        keep(chunk.subarray(start, end + 1));
        if (length <= longest) this.push(Buffer.concat(kept));
        kept = [];
        length = 0;
        start = end + 1;
      }
      keep(chunk.subarray(start));
      done();
    },
    flush(done) {
      if (length > 0 && length <= longest) this.push(Buffer.concat(kept));
      done();
    },
  });

  function keep(part: Buffer): void {
    length += part.length;
    if (length <= longest) kept.push(part);
    else kept = [];
  }
}
