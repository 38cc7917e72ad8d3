import { open } from "node:fs/promises";
import type { DurableLines } from "./durable-lines.ts";
import { lineEndsIn } from "./line-splitter.ts";

/** A journal whose lines are numbered 1, 2, 3 … without gaps. */
export interface NumberedLines {
  /** The number of the last line that is on disk; 0 if there is none. */
  readonly lastSeq: number;
  /**
   * Yields the complete lines after line number `seq` in the journal, and then new lines, until the signal is
   * aborted.
   */
  read(seq: number, signal: AbortSignal): AsyncGenerator<Buffer>;
}

const chunkBytes = 256 << 10;
const lineBreak = 0x0a;

/**
 * Yields the lines after line number `seq` in a file, and then new lines. A line's number is its position in
 * the file, so the reader counts lines to find `seq`. Reads from the file, so that a slow caller costs no
 * memory.
 */
export async function* readNumberedLines(
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
    await lines.waitForLinesAfter(count, signal);
  }
}

function skipLines(bytes: Buffer, lines: number): { at: number; skipped: number } {
  let at = 0;
  let skipped = 0;
  for (const end of lines > 0 ? lineEndsIn(bytes) : []) {
    at = end;
    skipped += 1;
    if (skipped === lines) break;
  }
  return { at, skipped };
}
