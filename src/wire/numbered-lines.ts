import { open } from "node:fs/promises";
import type { DurableLines } from "./durable-lines.ts";

/** A journal whose lines carry their own numbers: 1, 2, 3 … without gaps. */
export interface NumberedLines {
  /** Lines that are on the disk; the number of the last one. */
  readonly lastSeq: number;
  /** Whole lines behind the line `seq`, and on as they come; ends with the signal. */
  read(seq: number, signal: AbortSignal): AsyncGenerator<Buffer>;
}

const chunkBytes = 256 << 10;
const lineBreak = 0x0a;

/** Line number and sequence number are the same, so that nothing needs to be parsed. From the file: a slow reader costs no memory. */
export async function* readNumbered(
  file: string,
  lines: DurableLines,
  seq: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  await using handle = await open(file, "r");
  const chunk = Buffer.alloc(chunkBytes);
  let toSkip = seq;
  let position = 0;
  while (!signal.aborted) {
    const { count, size } = lines;
    while (position < size && !signal.aborted) {
      const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - position), position);
      const whole = chunk.subarray(0, chunk.subarray(0, bytesRead).lastIndexOf(lineBreak) + 1);
      position += whole.length;
      const start = skipLines(whole, toSkip);
      toSkip -= start.skipped;
      if (start.at < whole.length) yield Buffer.from(whole.subarray(start.at));
    }
    await lines.grown(count, signal);
  }
}

function skipLines(bytes: Buffer, lines: number): { at: number; skipped: number } {
  let at = 0;
  let skipped = 0;
  while (skipped < lines) {
    const end = bytes.indexOf(lineBreak, at);
    if (end < 0) break;
    at = end + 1;
    skipped += 1;
  }
  return { at, skipped };
}
