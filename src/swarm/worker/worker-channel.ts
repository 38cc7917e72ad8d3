import { createReadStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Containers } from "../../engine/containers.ts";
import type { ClockAndRandom } from "../../protocol/clock-and-random.ts";
import { fetchStoredFile } from "../../protocol/fetch-stored-file.ts";
import { openAdapterConversation } from "../../protocol/open-conversation.ts";
import { openHostJournal } from "../../protocol/open-host-journal.ts";
import type { VolumeReaderDeps } from "../../protocol/read-volume-journal.ts";
import { newConversationState } from "../../protocol/rules/message-order.ts";
import { type JournalledMessage, maxLineBytesToHost } from "../../protocol/rules/protocol-messages.ts";
import { readJsonLines } from "../../wire/read-lines.ts";
import { openTaskRequestStore } from "./task-request-store.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

export interface WorkerChannelDeps extends VolumeReaderDeps {
  readonly containers: Pick<Containers, "exec" | "inspect" | "copyOut" | "copyIn">;
  readonly timing: ClockAndRandom;
  readonly swarmId: string;
  /** The path of this swarm's folder, which is in `.aimi/swarms`. */
  readonly folder: string;
  /** The path of the worktree's git folder, which `git clean` does not touch. */
  readonly gitFolder: string;
  /**
   * Packs the file `from` as a tar stream with a single entry named `path`. Only root can read the unpacked
   * file.
   */
  readonly packFile: (path: string, from: string) => AsyncIterable<Uint8Array>;
}

/**
 * Gives access to one swarm's workers: to the connections with their adapters, the host's journals of their
 * messages, their task requests, and the files in their containers.
 */
export function workerChannel(deps: WorkerChannelDeps): WorkerChannel {
  const { containers, swarmId, folder, gitFolder, findProblem } = deps;
  const journalFile = (slug: string, attempt: number): string =>
    join(folder, slug, `journal-${attempt}.ndjson`);

  return {
    async connect({ containerId, slug, attempt, storyIds, completedStoryIds, request, environment }, signal) {
      await using undo = new AsyncDisposableStack();
      await mkdir(join(folder, slug), { recursive: true });
      const done = new Set(completedStoryIds);
      const statusById = new Map(storyIds.map((id) => [id, done.has(id) ? "completed" : "pending"] as const));
      const begin = newConversationState({ swarmId, attempt, containerId, statusById });
      const journal = undo.use(await openHostJournal(journalFile(slug, attempt), { begin, findProblem }));
      const { timing } = deps;
      const envelope = { type: "task-request", timestamp: timing.date().toISOString(), swarmId, containerId };
      const line = Buffer.from(`${JSON.stringify({ ...envelope, payload: request })}\n`);
      const conversation = undo.use(
        openAdapterConversation(
          deps,
          { containerId, journal, request: line, credentials: environment },
          signal,
        ),
      );
      const both = undo.move();
      return {
        events: conversation.events,
        cancel: (words) => conversation.cancel(words),
        resumed: (pausedMs) => conversation.resumed(pausedMs),
        [Symbol.asyncDispose]: () => both.disposeAsync(),
      };
    },

    async *readJournal({ slug, attempt }) {
      const file = journalFile(slug, attempt);
      if (!(await stat(file).catch(() => null))) return;
      // The cast is safe: only the owner writes this file, and only messages that the owner has checked.
      for await (const message of readJsonLines(createReadStream(file), {
        maxLineLength: 2 * maxLineBytesToHost,
      }))
        yield message as JournalledMessage;
    },

    readFile: (file, signal) => fetchStoredFile(deps, file, signal),

    copyBundle: (containerId, file, signal) =>
      containers.copyIn(containerId, "/aimi", deps.packFile("in/repo.bundle", file), signal),

    ...openTaskRequestStore(gitFolder, swarmId),
  };
}
