import { readArchive } from "../archive/read-archive.ts";
import type { Containers } from "../engine/containers.ts";
import { type MessageValidator, type ReceivedLine, receiveMessages } from "./receive-messages.ts";
import { type AdapterConversationState, conversationForJournalReplay } from "./rules/message-order.ts";

export interface VolumeReaderDeps {
  readonly containers: Pick<Containers, "copyOut">;
  readonly findProblem: MessageValidator;
}

const journalPath = "/aimi/journal.ndjson";

/**
 * Maximum size in bytes of an adapter's journal. The limit lets an adapter write the longest lines at the
 * highest rate for over six hours.
 */
const maxBytes = 8 * 1024 ** 3;

/**
 * Yields the messages that the host does not have yet from an adapter's own journal, after the adapter's
 * container has ended. Skips an incomplete last line.
 */
export async function* readVolumeJournal(
  { containers, findProblem }: VolumeReaderDeps,
  { containerId, known }: { readonly containerId: string; readonly known: AdapterConversationState },
  signal: AbortSignal,
): AsyncGenerator<readonly ReceivedLine[]> {
  const limits = { entries: 1, bytes: maxBytes, nameBytes: 100 };
  const archive = containers.copyOut(containerId, journalPath, signal);
  for await (const entry of readArchive(archive, { limits })) {
    if (entry.kind !== "file") continue;
    yield* receiveMessages(entry.content, conversationForJournalReplay(known), findProblem);
    return;
  }
}
