import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifSystemError } from "../errors/system-errors.ts";
import { followJsonLines, type JsonLineFollower, watchFolderForChanges } from "../wire/follow-json-lines.ts";
import { attemptsOf, maxJournalLineBytes } from "./host-journal.ts";
import type { MessageValidator } from "./receive-messages.ts";
import {
  type AdapterMessage,
  isJournalledMessage,
  type JournalledMessage,
} from "./rules/protocol-messages.ts";
import { sanitizeMessage } from "./rules/sanitize-message.ts";

const lookEveryMs = 1_000;

export interface JournalsToFollow {
  /** The host's folder with the message journals of one worker, one file for each attempt at its task. */
  readonly folder: string;
  /** The number of the worker's attempt whose messages to yield, or null for all attempts. */
  readonly attempt: number | null;
  /**
   * Returns whether the worker has ended. If so, `followJournals` reads the journals once more and then ends.
   */
  readonly isOver: () => Promise<boolean>;
  /** Calls `onChange` whenever the result of `isOver` may have changed, until the signal aborts. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

/**
 * Yields a worker's messages from the host's journals, attempt by attempt, and then each new message until
 * the worker has ended. Skips invalid lines and does not check the order of messages, because the result is
 * only for display.
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
    const names = await readdir(folder).catch(ifSystemError([], "ENOENT", "ENOTDIR"));
    for (const found of attemptsOf(names).reverse()) {
      if (attempt !== null && attempt !== found) continue;
      const journal = journals.get(found) ?? {
        lines: followJsonLines(join(folder, `journal-${found}.ndjson`), {
          maxLineLength: maxJournalLineBytes,
        }),
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
 * Yields the messages that were added to a journal since the last call. If the journal was replaced by a
 * restored copy, reads the copy from its start and uses `lastSeq` to skip the messages already yielded.
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
