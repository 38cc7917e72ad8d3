import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { packFiles } from "../../archive/pack-files.ts";
import type { Containers } from "../../engine/containers.ts";
import type { Repository } from "../../git/find-repository.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import { systemClockAndRandom } from "../../protocol/clock-and-random.ts";
import { fetchStoredFile } from "../../protocol/fetch-stored-file.ts";
import { maxJournalLineBytes } from "../../protocol/host-journal.ts";
import { type ConversationDeps, openAdapterConversation } from "../../protocol/open-conversation.ts";
import { openHostJournal } from "../../protocol/open-host-journal.ts";
import { newConversationState } from "../../protocol/rules/message-order.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem } from "../../schema/find-message-problem.ts";
import { readJsonLines } from "../../wire/read-json-lines.ts";
import { openTaskRequestStore } from "./task-request-store.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

/**
 * Gives access to one swarm's workers: to the connections with their adapters, the host's journals of their
 * messages, their task requests, and the files in their containers.
 */
export function workerChannel(
  { root, gitFolder }: Pick<Repository, "root" | "gitFolder">,
  swarmId: string,
  containers: Pick<Containers, "exec" | "inspect" | "copyOut" | "copyIn">,
  crashPoint: CrashHook,
): WorkerChannel {
  const folder = join(root, ".aimi", "swarms", swarmId);
  const timing = systemClockAndRandom;
  const findProblem = findAdapterMessageProblem;
  const deps: ConversationDeps = { containers, timing, findProblem, crashPoint };
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
      for await (const message of readJsonLines(file, { maxLength: maxJournalLineBytes }))
        yield message as JournalledMessage;
    },

    readFile: (file, signal) => fetchStoredFile(deps, file, signal),

    copyBundle(containerId, from, signal) {
      // Only root can read the unpacked file.
      const own = { uid: 0, gid: 0 };
      const bundle = packFiles([
        { kind: "folder", path: "in", mode: 0o700, ...own },
        { kind: "file", path: "in/repo.bundle", mode: 0o600, ...own, from },
      ]);
      return containers.copyIn(containerId, "/aimi", bundle, signal);
    },

    ...openTaskRequestStore(gitFolder, swarmId),
  };
}
