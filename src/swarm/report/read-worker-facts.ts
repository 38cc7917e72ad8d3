import { stat } from "node:fs/promises";
import { join } from "node:path";
import { findJournalledAttempts, maxJournalLineBytes } from "../../protocol/host-journal.ts";
import type { MessageValidator } from "../../protocol/receive-messages.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import { sanitizeMessage } from "../../protocol/rules/sanitize-message.ts";
import { readJsonLines } from "../../wire/read-json-lines.ts";
import { type WorkerFacts, WorkerFactsReader } from "./rules/story-facts.ts";

const journalled: ReadonlySet<unknown> = new Set([
  "progress-update",
  "activity",
  "usage",
  "checkpoint",
  "completion",
  "error",
] satisfies JournalledMessage["type"][]);

/**
 * Collects from all the host's journals of a worker what its messages say about its stories. Works while the
 * owner appends to the journals; without a journal, the result is empty.
 */
export async function readWorkerFactsFromJournals(
  folder: string,
  findProblem: MessageValidator,
): Promise<WorkerFacts> {
  const facts = new WorkerFactsReader();
  for (const attempt of (await findJournalledAttempts(folder)).reverse()) {
    const file = join(folder, `journal-${attempt}.ndjson`);
    // Skip all but regular files: to open a FIFO at this path would block for ever.
    if (!(await stat(file).catch(() => null))?.isFile()) continue;
    facts.begin(attempt);
    let lastSeq = 0;
    for await (const message of readJsonLines(file, { maxLength: maxJournalLineBytes })) {
      if (!isJournalled(message, findProblem) || message.seq <= lastSeq) continue;
      lastSeq = message.seq;
      facts.add(sanitizeMessage(message));
    }
  }
  return facts.facts();
}

/**
 * Returns whether a value is a valid message of a type that belongs in a journal. The check is necessary,
 * because messages from a sandbox are untrusted.
 */
function isJournalled(value: unknown, findProblem: MessageValidator): value is JournalledMessage {
  if (typeof value !== "object" || value === null || !("type" in value) || !("seq" in value)) return false;
  return journalled.has(value.type) && findProblem(value) === null;
}
