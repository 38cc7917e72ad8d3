import { inJournal, type KnownConversation } from "../domain/message-order.ts";
import type { Containers } from "../ports/containers.ts";
import { type FindProblem, type Received, receiveMessages } from "./receive-messages.ts";

/** A file or folder of an archive that somebody else checked. */
export interface ReadEntry {
  readonly path: string;
  readonly kind: "file" | "folder";
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Reads a tar stream with suspicion; ARCHIVE_REFUSED for what is no plain archive of at most so many files and bytes. */
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

/** Six hours of the longest lines at the highest pace would not be as much. */
const mostBytes = 8 * 1024 ** 3;

/** What the adapter's own journal in a container that has ended says beyond what is known. A torn last line is left out. */
export async function* readVolumeJournal(
  { containers, readArchive, findProblem }: VolumeDeps,
  { containerId, known }: { readonly containerId: string; readonly known: KnownConversation },
  signal: AbortSignal,
): AsyncGenerator<readonly Received[]> {
  const archive = containers.copyOut(containerId, journalPath, signal);
  for await (const entry of readArchive(archive, { entries: 1, bytes: mostBytes, nameBytes: 100 })) {
    if (entry.kind !== "file") continue;
    yield* receiveMessages(entry.content, inJournal(known), findProblem);
    return;
  }
}
