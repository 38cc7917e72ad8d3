import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Admission, GatewayHello, GatewayMessage, RenewedLogin } from "../../src/contract/gateway.ts";
import { openDurableLines } from "../../src/wire/durable-lines.ts";
import { type NumberedLines, readNumberedLines } from "../../src/wire/numbered-lines.ts";
import { jsonLines } from "../../src/wire/text-lines.ts";

/** An entry of the gateway's journal. Each entry is stored as one line. */
export type JournalEntry = Exclude<GatewayMessage, Admission | GatewayHello | RenewedLogin>;

type Unnumbered<Each> = Each extends JournalEntry ? Omit<Each, "seq" | "at"> : never;
export type NewJournalEntry = Unnumbered<JournalEntry>;

export interface Journal extends NumberedLines, AsyncDisposable {
  /**
   * Gives an entry the next sequence number and appends it to the journal. Resolves with the number when the
   * entry is on disk.
   */
  append(entry: NewJournalEntry): Promise<number>;
}

const maxLineLength = 16 << 10;

/** Yields the entries that are already in the journal, which earlier gateway processes wrote. */
export async function* readJournal(file: string): AsyncGenerator<JournalEntry> {
  if (!(await stat(file).catch(() => null))) return;
  // The cast is safe, since only the gateway writes this file.
  for await (const entry of jsonLines(createReadStream(file), { maxLength: maxLineLength }))
    yield entry as JournalEntry;
}

export async function openJournal(file: string, now: () => Date): Promise<Journal> {
  const lines = await openDurableLines(file);
  let last = lines.count;
  return {
    get lastSeq() {
      return lines.count;
    },
    async append(entry) {
      last += 1;
      const seq = last;
      const { type, ...facts } = entry;
      await lines.add(JSON.stringify({ type, seq, at: now().toISOString(), ...facts }));
      return seq;
    },
    read: (seq, signal) => readNumberedLines(file, lines, seq, signal),
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}
