import { Transform } from "node:stream";

/** Replaces one text by another in a stream, holding back no more than the text's length. */
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
      // A copy: a view would keep the whole piece alive.
      kept = Buffer.from(bytes.subarray(end));
      done();
    },
    flush(done) {
      done(null, kept);
    },
  });
}
