import { isJournalled } from "../domain/acp-messages.ts";
import { type PassPoint, passNothing } from "../domain/crash-points.ts";
import { isOver } from "../domain/message-order.ts";
import type { Containers } from "../ports/containers.ts";
import type { Conversation, ConversationEvent } from "../ports/conversations.ts";
import { type ConversationLimits, conversationLimits } from "./conversation-limits.ts";
import { Inbox } from "./inbox.ts";
import { keepAttached } from "./keep-attached.ts";
import { watchLine } from "./line-watch.ts";
import type { HostJournal } from "./open-host-journal.ts";
import { openOutbox } from "./outbox.ts";
import type { VolumeDeps } from "./read-volume-journal.ts";
import type { Received } from "./receive-messages.ts";
import type { Timing } from "./timing.ts";

export interface ConversationDeps extends VolumeDeps {
  readonly passes?: PassPoint;
  readonly containers: Pick<Containers, "exec" | "look" | "copyOut">;
  readonly timing: Timing;
}

export interface ConversationSubject {
  /** The container's whole id, as the envelope of the request tells it. */
  readonly containerId: string;
  /** Opened for this attempt, and used by nobody else; whoever opened it closes it. */
  readonly journal: HostJournal;
  /** The whole task-request, as a line. It is sent as it is whenever an adapter waits for one. */
  readonly request: Uint8Array;
  /** Asked for at each connection; null for none. */
  readonly credentials: () => Readonly<Record<string, string>> | null;
  readonly limits?: Partial<ConversationLimits>;
}

type Item = Received | Exclude<ConversationEvent, { kind: "message" | "ignored" }>;

/** Bytes of messages that may wait here for whoever takes the events. */
const mostWaiting = 1024 * 1024;

/**
 * Talks with the adapter in a container for as long as there is something to talk about: every message is checked, is on the disk
 * before it is told or acknowledged, and is told once, whatever happens to connections.
 */
export function holdConversation(
  deps: ConversationDeps,
  { containerId, journal, request, credentials, limits: given }: ConversationSubject,
  signal: AbortSignal,
): Conversation {
  const { timing, containers, passes = passNothing } = deps;
  const limits = { ...conversationLimits, ...given };
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  const inbox = new Inbox<Item>(mostWaiting);
  const settled = Promise.withResolvers<void>();
  const { known } = journal;
  const outbox = openOutbox(
    timing,
    { swarmId: known.swarmId, containerId, request, credentials },
    journal.lastSeq,
    until,
  );
  let breakOff = (): void => {};
  const line = watchLine({
    timing,
    ...{ silenceMs: limits.silenceMs, idleMs: limits.idleMs },
    isPaused: async (within) =>
      (await containers.look(containerId, { withDisk: false }, within).catch(() => null))?.state === "paused",
    isBusy: () => inbox.isFull,
    tell: (status, why) => inbox.post({ kind: "line", status, why }),
    onSilence: () => breakOff(),
  });

  const attached = keepAttached(
    {
      ...deps,
      ...{ limits, outbox, line, settled: settled.promise },
      deliver: (group) => inbox.put(group, weightOf(group), until),
      onConnect: (way) => {
        breakOff = way;
      },
    },
    { containerId, known: { ...known, containerId }, durableSeq: () => journal.lastSeq },
    until,
  ).then(
    (end) => inbox.post({ kind: "end", end }),
    (error: unknown) => inbox.fail(error),
  );
  const watched = line.watch(until);

  return {
    events: {
      async *[Symbol.asyncIterator]() {
        let ignored = 0;
        for (;;) {
          const items = await inbox.take(until);
          await keep(items);
          for (const item of items) {
            if (item.kind === "message") yield { kind: "message", message: item.message };
            else if (item.kind === "ignored") {
              ignored += 1;
              yield { kind: "ignored", count: ignored };
            } else if (item.kind === "line" || item.kind === "end") yield item;
            if (item.kind === "end") return;
          }
        }
      },
    },

    cancel: (words) => outbox.cancel(words),
    resumed: (pausedMs) => outbox.resumed(pausedMs),

    async [Symbol.asyncDispose]() {
      closed.abort(new Error("The conversation was closed"));
      settled.resolve();
      await Promise.all([attached, watched]);
    },
  };

  /** On the disk first, then acknowledged; the last word at once, for the adapter waits for that to end. */
  async function keep(items: readonly Item[]): Promise<void> {
    const messages = items.flatMap((item) =>
      item.kind === "message" && isJournalled(item.message) ? [item.message] : [],
    );
    if (messages.length > 0) {
      passes("after-request-before-ack");
      await journal.append(messages);
      passes("after-host-journal-before-ack");
      outbox.durable(journal.lastSeq);
    }
    if (!items.some((item) => item.kind === "message" && isOver(item.known))) return;
    await outbox.acknowledge();
    settled.resolve();
  }
}

/** What has no content here takes room all the same. */
function weightOf(group: readonly Received[]): number {
  return group.reduce((sum, received) => sum + (received.kind === "message" ? received.bytes : 64), 0);
}
