import { Transform } from "node:stream";

/**
 * Returns a stream that replaces each occurrence of `text`. The stream holds back at most as many bytes as it
 * needs to find a text that is split over two pieces.
 */
export function replaceBytes(text: string, replacement: string): Transform {
  const wanted = Buffer.from(text);
  const instead = Buffer.from(replacement);
  let kept = Buffer.alloc(0);
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      const bytes = Buffer.concat([kept, piece]);
      let start = 0;
      for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, start)) {
        this.push(bytes.subarray(start, at));
        this.push(instead);
        start = at + wanted.length;
      }
      const end = Math.max(start, bytes.length - wanted.length + 1);
      this.push(bytes.subarray(start, end));
      // Copies the bytes, because a view would hold the whole piece in memory.
      kept = Buffer.from(bytes.subarray(end));
      done();
    },
    flush(done) {
      done(null, kept);
    },
  });
}
