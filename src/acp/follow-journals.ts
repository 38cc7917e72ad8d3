import { readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type AdapterMessage,
  isJournalled,
  type JournalledMessage,
  longestToHost,
} from "../domain/acp-messages.ts";
import { cleanMessage } from "../domain/clean-message.ts";
import { folderBell, type GrowingLines, growingLines } from "../wire/growing-lines.ts";
import type { FindProblem } from "./receive-messages.ts";

/** Written by us, a message may take a little more room than the protocol gives it. */
const longestLine = 2 * longestToHost;
const lookEveryMs = 1_000;

export interface FollowedJournals {
  /** The journals of one worker. */
  readonly folder: string;
  /** Null for all attempts. */
  readonly attempt: number | null;
  /** Asked before each look: whether that is the last one. */
  readonly isOver: () => Promise<boolean>;
  /** Calls back when that may have changed, until the signal is aborted. */
  readonly watch: (onChange: () => void, signal: AbortSignal) => void;
}

/**
 * What the host's journals of a worker say, an attempt after the other, and what their owner writes on into them until it is
 * over. What has not the form of a message is left out: this only shows, and judges nobody.
 */
export async function* followJournals(
  { folder, attempt, isOver, watch }: FollowedJournals,
  findProblem: FindProblem,
  signal: AbortSignal,
): AsyncGenerator<JournalledMessage> {
  const leaving = new AbortController();
  using stack = new DisposableStack();
  stack.defer(() => leaving.abort());
  const bell = stack.use(folderBell(folder, { everyMs: lookEveryMs }, signal));
  watch(bell.ring, AbortSignal.any([signal, leaving.signal]));
  const journals = new Map<number, Followed>();
  while (!signal.aborted) {
    const isLast = await isOver();
    for (const found of await attemptsIn(folder)) {
      if (attempt !== null && attempt !== found) continue;
      const journal = journals.get(found) ?? {
        lines: growingLines(join(folder, `journal-${found}.ndjson`), { longestLine }),
        lastSeq: 0,
      };
      journals.set(found, journal);
      yield* newsOf(journal, findProblem);
    }
    if (isLast) return;
    await bell.rung();
  }
}

interface Followed {
  readonly lines: GrowingLines;
  lastSeq: number;
}

/** A file that was put back is read anew, and what was told is not told again. */
async function* newsOf(journal: Followed, findProblem: FindProblem): AsyncGenerator<JournalledMessage> {
  for await (const value of journal.lines.news()) {
    if (findProblem(value) !== null) continue;
    // The schema was asked just now.
    const message = cleanMessage(value as AdapterMessage);
    if (!isJournalled(message) || message.seq <= journal.lastSeq) continue;
    journal.lastSeq = message.seq;
    yield message;
  }
}

/** The attempts that have a journal, the oldest first. */
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
