import { type ConversationState, inJournal } from "../domain/message-order.ts";
import type { Containers } from "../ports/containers.ts";
import { type FindProblem, type Received, receiveMessages } from "./receive-messages.ts";

/** A file or folder of an archive; the archive reader has checked its path and size. */
export interface ReadEntry {
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Reads an untrusted tar stream; throws ARCHIVE_REFUSED unless it is a plain archive within the limits. */
export type ReadArchive = (
  archive: AsyncIterable<Uint8Array>,
  limits: { readonly entries: number; readonly bytes: number; readonly nameBytes: number },
) => AsyncIterable<ReadEntry>;

export interface VolumeDeps {
  readonly containers: Pick<Containers, "copyOut">;
  readonly readArchive: ReadArchive;
  readonly findProblem: FindProblem;
}

const journalPath = "/aimi/journal.ndjson";

/** More than six hours of the longest lines at the highest rate. */
const maxBytes = 8 * 1024 ** 3;

/** New messages in the adapter's own journal, copied from a container that has ended. Skips a torn last line. */
export async function* readVolumeJournal(
  { containers, readArchive, findProblem }: VolumeDeps,
  { containerId, known }: { readonly containerId: string; readonly known: ConversationState },
  signal: AbortSignal,
): AsyncGenerator<readonly Received[]> {
  const archive = containers.copyOut(containerId, journalPath, signal);
  for await (const entry of readArchive(archive, { entries: 1, bytes: maxBytes, nameBytes: 100 })) {
    if (entry.kind !== "file") continue;
    yield* receiveMessages(entry.content, inJournal(known), findProblem);
    return;
  }
}
