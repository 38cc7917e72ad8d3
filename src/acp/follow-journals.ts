import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type AdapterMessage,
  isJournalledMessage,
  type JournalledMessage,
  maxLineBytesToHost,
} from "../domain/acp-messages.ts";
import { sanitizeMessage } from "../domain/clean-message.ts";
import { followJsonLines, type JsonLineFollower, watchFolderForChanges } from "../wire/growing-lines.ts";
import type { MessageValidator } from "./receive-messages.ts";

/**
 * Maximum length of a line. The host serializes each message anew, so a line may be a little longer than the
 * protocol allows.
 */
const maxLineLength = 2 * maxLineBytesToHost;
const lookEveryMs = 1_000;

export interface JournalsToFollow {
  /** The folder with the journals of one worker. */
  readonly folder: string;
  /** The number of the attempt to follow, or null to follow all attempts. */
  readonly attempt: number | null;
  /** Returns whether the worker has ended. If so, the next read of the journals is the last one. */
  readonly isOver: () => Promise<boolean>;
  /** Calls `onChange` whenever the result of `isOver` may have changed, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

/**
 * Yields the messages in the host's journals of a worker, attempt by attempt. Then yields the messages that
 * the owner appends, until the worker has ended. The result is only for display, so this function skips
 * invalid lines and does not check the protocol.
 */
export async function* followJournals(
  { folder, attempt, isOver, watch }: JournalsToFollow,
  findProblem: MessageValidator,
  signal: AbortSignal,
): AsyncGenerator<JournalledMessage> {
  const leaving = new AbortController();
  using stack = new DisposableStack();
  stack.defer(() => leaving.abort());
  const changes = stack.use(watchFolderForChanges(folder, { everyMs: lookEveryMs }, signal));
  watch(changes.notify, AbortSignal.any([signal, leaving.signal]));
  const journals = new Map<number, Followed>();
  while (!signal.aborted) {
    const isLast = await isOver();
    for (const found of await attemptsIn(folder)) {
      if (attempt !== null && attempt !== found) continue;
      const journal = journals.get(found) ?? {
        lines: followJsonLines(join(folder, `journal-${found}.ndjson`), { maxLineLength }),
        lastSeq: 0,
      };
      journals.set(found, journal);
      yield* newsOf(journal, findProblem);
    }
    if (isLast) return;
    await changes.wait();
  }
}

interface Followed {
  readonly lines: JsonLineFollower;
  lastSeq: number;
}

/**
 * Yields the new messages of a journal. If the file was restored, reads the file again from its start, and
 * uses `lastSeq` to skip the messages already yielded.
 */
async function* newsOf(journal: Followed, findProblem: MessageValidator): AsyncGenerator<JournalledMessage> {
  for await (const value of journal.lines.readNewLines()) {
    if (findProblem(value) !== null) continue;
    // The cast is safe: `findProblem` has just checked the value against the schema.
    const message = sanitizeMessage(value as AdapterMessage);
    if (!isJournalledMessage(message) || message.seq <= journal.lastSeq) continue;
    journal.lastSeq = message.seq;
    yield message;
  }
}

/** Finds the numbers of the attempts that have a journal, the oldest first. */
async function attemptsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  return names
    .flatMap((name) => /^journal-([1-9]\d{0,5})\.ndjson$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((one, other) => one - other);
}
