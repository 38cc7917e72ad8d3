import { createReadStream } from "node:fs";
import { rm, stat, writeFile } from "node:fs/promises";
import type { AcpMessage } from "../../src/contract/acp.ts";
import { serializeWithinLimit } from "../../src/text/truncate-text.ts";
import { openDurableLines } from "../../src/wire/durable-lines.ts";
import { type NumberedLines, readNumberedLines } from "../../src/wire/numbered-lines.ts";
import { jsonLines } from "../../src/wire/text-lines.ts";
import { diskReserveFilePath, journalPath, type SandboxPaths } from "../machine/sandbox-paths.ts";

/**
 * A message to the host with a sequence number. The adapter syncs the message to disk before it sends the
 * message over any connection.
 */
export type JournalledMessage = Extract<AcpMessage, { readonly seq?: number }>;

type Unnumbered<Message> = Message extends JournalledMessage ? Pick<Message, "type" | "payload"> : never;
export type NewJournalMessage = Unnumbered<JournalledMessage>;

export interface Journal extends NumberedLines, AsyncDisposable {
  /**
   * Appends a message to the journal. Resolves with the message's sequence number when the message is on
   * disk.
   */
  append(message: NewJournalMessage): Promise<number>;
}

export interface MessageEnvelope {
  readonly timestamp: string;
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
}

const reserveBytes = 4 << 20;
const maxLineLength = 64 << 10;

/** Reads all messages that the journal on the adapter's volume already contains. */
export async function* readJournal(paths: SandboxPaths): AsyncGenerator<unknown> {
  const exists = await stat(journalPath(paths)).catch(() => null);
  if (exists) yield* jsonLines(createReadStream(journalPath(paths)), { maxLength: maxLineLength });
}

/**
 * Opens the journal on the adapter's volume. `envelope` supplies the envelope of each message; `onFull` is
 * called when the disk is full.
 */
export async function openJournal(
  paths: SandboxPaths,
  { envelope, onFull }: { readonly envelope: () => MessageEnvelope; readonly onFull: () => void },
): Promise<Journal> {
  await ensureReserve(paths);
  const lines = await openDurableLines(journalPath(paths), {
    async freeSpace() {
      await rm(diskReserveFilePath(paths), { force: true });
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
      const line = serializeWithinLimit({ type, ...envelope(), seq, payload });
      // Increments the number only after `serializeWithinLimit`, which throws if a message is too long: the journal must have no
      // gap.
      next += 1;
      await lines.add(line);
      return seq;
    },
    read: (seq, signal) => readNumberedLines(journalPath(paths), lines, seq, signal),
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

async function ensureReserve(paths: SandboxPaths): Promise<void> {
  const reserve = diskReserveFilePath(paths);
  const there = await stat(reserve).catch(() => null);
  if (there?.size === reserveBytes) return;
  // Ignores a full disk: the work starts without the reserve, and the last messages may then be lost.
  await writeFile(reserve, Buffer.alloc(reserveBytes), { mode: 0o600, flush: true }).catch(() =>
    rm(reserve, { force: true }),
  );
}
