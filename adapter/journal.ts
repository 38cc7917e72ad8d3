import { createReadStream } from "node:fs";
import { open, rm, stat, writeFile } from "node:fs/promises";
import { fitMessage } from "../src/domain/fit-message.ts";
import type { AcpMessage } from "../src/domain/generated/acp.ts";
import { type DurableLines, openDurableLines } from "../src/wire/durable-lines.ts";
import { journalOf, type Places, reserveOf } from "./places.ts";
import { jsonLines } from "./text-lines.ts";

/** Messages that are numbered and on the disk before anybody hears of them. */
export type JournalledMessage = Extract<AcpMessage, { readonly seq?: number }>;

type Unnumbered<Message> = Message extends JournalledMessage ? Pick<Message, "type" | "payload"> : never;
export type News = Unnumbered<JournalledMessage>;

export interface Journal extends AsyncDisposable {
  /** Messages that are on the disk; the number of the last one. */
  readonly lastSeq: number;
  /** Resolves once the message is on the disk. */
  append(news: News): Promise<number>;
  /** Whole lines behind the message `seq`, and on as they come; ends with the signal. */
  read(seq: number, signal: AbortSignal): AsyncGenerator<Buffer>;
}

export interface Envelope {
  readonly timestamp: string;
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
}

const reserveBytes = 4 << 20;
const longestLine = 64 << 10;
const chunkBytes = 4 * longestLine;
const lineBreak = 0x0a;

/** The messages of an earlier run in this volume. */
export async function* readJournal(places: Places): AsyncGenerator<unknown> {
  const exists = await stat(journalOf(places)).catch(() => null);
  if (exists) yield* jsonLines(createReadStream(journalOf(places)), { longest: longestLine });
}

/** Opens the journal of this volume; `envelope` says who speaks, at each message anew. */
export async function openJournal(
  places: Places,
  { envelope, onFull }: { readonly envelope: () => Envelope; readonly onFull: () => void },
): Promise<Journal> {
  await keepReserve(places);
  const lines = await openDurableLines(journalOf(places), {
    async makeRoom() {
      await rm(reserveOf(places), { force: true });
      onFull();
    },
  });
  let next = lines.count + 1;
  return {
    get lastSeq() {
      return lines.count;
    },
    async append(news) {
      const seq = next;
      const { type, payload } = news;
      const line = fitMessage({ type, ...envelope(), seq, payload });
      // One that cannot be written takes no number: a gap would be the end of the journal.
      next += 1;
      await lines.add(line);
      return seq;
    },
    read: (seq, signal) => readOn(places, lines, seq, signal),
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

/** Line number and sequence number are the same, so that nothing needs to be parsed. From the file: a slow reader costs no memory. */
async function* readOn(
  places: Places,
  lines: DurableLines,
  seq: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  await using file = await open(journalOf(places), "r");
  const chunk = Buffer.alloc(chunkBytes);
  let toSkip = seq;
  let position = 0;
  while (!signal.aborted) {
    const { count, size } = lines;
    while (position < size && !signal.aborted) {
      const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, size - position), position);
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

async function keepReserve(places: Places): Promise<void> {
  const reserve = reserveOf(places);
  const there = await stat(reserve).catch(() => null);
  if (there?.size === reserveBytes) return;
  // On a disk that is full already the last words must do without.
  await writeFile(reserve, Buffer.alloc(reserveBytes), { mode: 0o600, flush: true }).catch(() =>
    rm(reserve, { force: true }),
  );
}
