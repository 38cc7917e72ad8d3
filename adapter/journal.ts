import { createReadStream } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import { fitMessage } from "../src/domain/fit-message.ts";
import type { AcpMessage } from "../src/domain/generated/acp.ts";
import { openDurableLines } from "../src/wire/durable-lines.ts";
import { type NumberedLines, readNumbered } from "../src/wire/numbered-lines.ts";
import { jsonLines } from "../src/wire/text-lines.ts";
import { journalOf, reserveOf, type SandboxPaths } from "./places.ts";

/** Messages that have a number and are on the disk before any listener gets them. */
export type JournalledMessage = Extract<AcpMessage, { readonly seq?: number }>;

type Unnumbered<Message> = Message extends JournalledMessage ? Pick<Message, "type" | "payload"> : never;
export type NewMessage = Unnumbered<JournalledMessage>;

export interface Journal extends NumberedLines, AsyncDisposable {
  /** Resolves once the message is on the disk. */
  append(message: NewMessage): Promise<number>;
}

export interface Envelope {
  readonly timestamp: string;
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
}

const reserveBytes = 4 << 20;
const maxLineLength = 64 << 10;

/** Reads the messages of earlier runs on this volume. */
export async function* readJournal(paths: SandboxPaths): AsyncGenerator<unknown> {
  const exists = await stat(journalOf(paths)).catch(() => null);
  if (exists) yield* jsonLines(createReadStream(journalOf(paths)), { maxLength: maxLineLength });
}

/** Opens the journal of this volume; calls `envelope` for each message. */
export async function openJournal(
  paths: SandboxPaths,
  { envelope, onFull }: { readonly envelope: () => Envelope; readonly onFull: () => void },
): Promise<Journal> {
  await ensureReserve(paths);
  const lines = await openDurableLines(journalOf(paths), {
    async freeSpace() {
      await rm(reserveOf(paths), { force: true });
      onFull();
    },
  });
  let next = lines.count + 1;
  return {
    get lastSeq() {
      return lines.count;
    },
    async append({ type, payload }) {
      const seq = next;
      const line = fitMessage({ type, ...envelope(), seq, payload });
      // A message that does not fit takes no number: the journal must have no gap.
      next += 1;
      await lines.add(line);
      return seq;
    },
    read: (seq, signal) => readNumbered(journalOf(paths), lines, seq, signal),
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

async function ensureReserve(paths: SandboxPaths): Promise<void> {
  const reserve = reserveOf(paths);
  const there = await stat(reserve).catch(() => null);
  if (there?.size === reserveBytes) return;
  // On a disk that is already full, the last messages have no reserve.
  await writeFile(reserve, Buffer.alloc(reserveBytes), { mode: 0o600, flush: true }).catch(() =>
    rm(reserve, { force: true }),
  );
}
