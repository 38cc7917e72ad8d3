import type { Containers } from "../engine/containers.ts";
import { type MessageValidator, type ReceivedLine, receiveMessages } from "./receive-messages.ts";
import { type AdapterConversationState, conversationForJournalReplay } from "./rules/message-order.ts";

/** A file or folder in a tar archive, after the archive reader has checked its path and size. */
export interface UnpackedEntry {
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Reads an untrusted tar stream. Throws ARCHIVE_REFUSED if the archive exceeds the limits, or contains
 * anything other than plain files and folders.
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
 * Maximum size in bytes of an adapter's journal. The limit lets an adapter write the longest lines at the
 * highest rate for over six hours.
 */
const maxBytes = 8 * 1024 ** 3;

/**
 * Yields the messages that the host does not have yet from an adapter's own journal, after the adapter's
 * container has ended. Skips an incomplete last line.
 */
export async function* readVolumeJournal(
  { containers, readArchive, findProblem }: VolumeReaderDeps,
  { containerId, known }: { readonly containerId: string; readonly known: AdapterConversationState },
  signal: AbortSignal,
): AsyncGenerator<readonly ReceivedLine[]> {
  const archive = containers.copyOut(containerId, journalPath, signal);
  for await (const entry of readArchive(archive, { entries: 1, bytes: maxBytes, nameBytes: 100 })) {
    if (entry.kind !== "file") continue;
    yield* receiveMessages(entry.content, conversationForJournalReplay(known), findProblem);
    return;
  }
}
