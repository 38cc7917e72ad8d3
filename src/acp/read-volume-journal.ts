import { type ConversationState, conversationForJournalReplay } from "../domain/message-order.ts";
import type { Containers } from "../ports/containers.ts";
import { type MessageValidator, type ReceivedLine, receiveMessages } from "./receive-messages.ts";

/** A file or folder in an archive, whose path and size the archive reader has checked. */
export interface UnpackedEntry {
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Reads an untrusted tar stream. Throws ARCHIVE_REFUSED unless the stream is a plain archive within the
 * limits.
 */
export type ArchiveReader = (
  archive: AsyncIterable<Uint8Array>,
  limits: { readonly entries: number; readonly bytes: number; readonly nameBytes: number },
) => AsyncIterable<UnpackedEntry>;

export interface VolumeReaderDeps {
  readonly containers: Pick<Containers, "copyOut">;
  readonly readArchive: ArchiveReader;
  readonly findProblem: MessageValidator;
}

const journalPath = "/aimi/journal.ndjson";

/**
 * Maximum size of an adapter's journal in bytes: enough for over six hours of the longest lines at the
 * highest rate.
 */
const maxBytes = 8 * 1024 ** 3;

/**
 * Yields the new messages in an adapter's own journal, copied from a container that has ended. Skips an
 * incomplete last line.
 */
export async function* readVolumeJournal(
  { containers, readArchive, findProblem }: VolumeReaderDeps,
  { containerId, known }: { readonly containerId: string; readonly known: ConversationState },
  signal: AbortSignal,
): AsyncGenerator<readonly ReceivedLine[]> {
  const archive = containers.copyOut(containerId, journalPath, signal);
  for await (const entry of readArchive(archive, { entries: 1, bytes: maxBytes, nameBytes: 100 })) {
    if (entry.kind !== "file") continue;
    yield* receiveMessages(entry.content, conversationForJournalReplay(known), findProblem);
    return;
  }
}
