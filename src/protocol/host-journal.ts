import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Reason, StoryStatus } from "../contract/swarm-state.ts";
import { isCommitId } from "../git/rules/commit-id.ts";
import { readJsonLines } from "../wire/read-json-lines.ts";
import { maxLineBytesToHost } from "./rules/protocol-messages.ts";

/** A summary of the host's journal of the messages that it received in the worker's newest attempt. */
export interface JournalSummary {
  readonly attempt: number;
  readonly lastSeq: number;
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The task's status from the last message in the journal; null if that message is not a `completion`. */
  readonly completion: "completed" | "failed" | "stopped" | null;
  readonly error: Reason | null;
  /**
   * The commit of the worker's newest checkpoint that has both a commit and a bundle; null if there is none.
   */
  readonly lastCheckpoint: string | null;
  /** Whether the journal is complete, that is, whether its last message is a `completion` or an `error`. */
  readonly isWhole: boolean;
  /** The commits with the unfinished work of failed stories. */
  readonly failedWork: readonly string[];
}

/**
 * Maximum length of a journal line in bytes. The host serializes each received message again, so a line may
 * be a little longer than the protocol allows.
 */
export const maxJournalLineBytes: number = 2 * maxLineBytesToHost;

/**
 * Summarizes the newest of a worker's attempts from the host's journal of its messages. Returns null if the
 * worker has no journal.
 */
export async function summarizeHostJournal(folder: string): Promise<JournalSummary | null> {
  const [attempt] = await findJournalledAttempts(folder);
  return attempt === undefined ? null : summarizeAttemptJournal(folder, attempt);
}

/**
 * Summarizes one attempt of a worker from the host's journal of its messages. Returns null if the attempt has
 * no journal.
 */
export async function summarizeAttemptJournal(
  folder: string,
  attempt: number,
): Promise<JournalSummary | null> {
  const file = join(folder, `journal-${attempt}.ndjson`);
  if (!(await stat(file).catch(() => null))?.isFile()) return null;
  let summary: JournalSummary = {
    attempt,
    lastSeq: 0,
    statusById: new Map(),
    completion: null,
    error: null,
    lastCheckpoint: null,
    isWhole: false,
    failedWork: [],
  };
  for await (const message of readJsonLines(file, { maxLength: maxJournalLineBytes }))
    summary = withMessage(summary, message);
  return summary;
}

/** Returns the numbers of the worker's attempts that have a journal in the folder, the newest first. */
export async function findJournalledAttempts(folder: string): Promise<number[]> {
  return attemptsOf(await readdir(folder).catch(() => []));
}

/** Returns the numbers of the attempts to which these journals belong, the newest first. */
export function attemptsOf(journals: readonly string[]): number[] {
  return journals
    .flatMap((name) => /^journal-([1-9]\d{0,14})\.ndjson$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}

/**
 * Returns the summary updated with one more message. Ignores malformed fields, because messages from a
 * sandbox are untrusted.
 */
function withMessage(summary: JournalSummary, message: unknown): JournalSummary {
  const { type, seq, payload } = fieldsOf(message);
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq <= summary.lastSeq) return summary;
  const { storyId, status, commit, bundle, failedWork, code, message: text } = fieldsOf(payload);
  const next = { ...summary, lastSeq: seq, completion: null, isWhole: false };
  switch (type) {
    case "progress-update": {
      if (typeof storyId !== "string" || !isStoryStatus(status)) return next;
      const { commit: stored } = fieldsOf(failedWork);
      return {
        ...next,
        statusById: new Map([...summary.statusById, [storyId, status]]),
        ...(isCommit(stored) && { failedWork: [...summary.failedWork, stored] }),
      };
    }
    case "checkpoint":
      return isCommit(commit) && bundle !== null ? { ...next, lastCheckpoint: commit } : next;
    case "completion":
      return isCompletion(status) ? { ...next, completion: status, isWhole: true } : next;
    case "error":
      return typeof code === "string" && /^[A-Z][A-Z0-9_]*$/.test(code) && typeof text === "string"
        ? { ...next, error: { code, message: text } satisfies Reason, isWhole: true }
        : next;
    default:
      return next;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isCommit(value: unknown): value is string {
  return typeof value === "string" && isCommitId(value);
}

function isStoryStatus(value: unknown): value is StoryStatus {
  return ["pending", "in_progress", "completed", "failed", "skipped"].some((status) => status === value);
}

function isCompletion(value: unknown): value is NonNullable<JournalSummary["completion"]> {
  return ["completed", "failed", "stopped"].some((status) => status === value);
}
