import type { CrashHook } from "../machine/crash-points.ts";
import type { AdapterConversation, AdapterConversationEvent } from "./adapter-conversation.ts";
import { BoundedQueue } from "./bounded-queue.ts";
import { createConnectionMonitor } from "./connection-monitor.ts";
import { type ConversationTimeouts, conversationTimeouts } from "./conversation-limits.ts";
import type { HostJournal } from "./open-host-journal.ts";
import { type OutboxOptions, openOutbox } from "./outbox.ts";
import type { ReceivedLine } from "./receive-messages.ts";
import { isConversationEndFinal } from "./rules/message-order.ts";
import { isJournalledMessage } from "./rules/protocol-messages.ts";
import { type AdapterConnectionDeps, stayConnectedToAdapter } from "./stay-connected.ts";

export interface ConversationDeps
  extends Pick<AdapterConnectionDeps, "containers" | "findProblem" | "timing"> {
  readonly crashPoint: CrashHook;
}

export interface ConversationOptions extends Pick<OutboxOptions, "request" | "credentials"> {
  /** The full ID of the worker's container. The task request contains the same ID. */
  readonly containerId: string;
  /**
   * The file to which the host writes the messages of this worker's attempt. The caller opens and closes the
   * journal, but writes nothing to it meanwhile.
   */
  readonly journal: HostJournal;
  readonly limits?: Partial<ConversationTimeouts>;
}

type Item = ReceivedLine | Exclude<AdapterConversationEvent, { kind: "message" | "ignored" }>;

/** Maximum total size in bytes of the received messages that wait for the reader of `events`. */
const maxWaiting = 1024 * 1024;

/**
 * Exchanges messages with the adapter in a container until the adapter's last message, the container's end or
 * a failure. Writes each received message to disk before acknowledging it, and yields each message once, even
 * if the connection breaks.
 */
export function openAdapterConversation(
  deps: ConversationDeps,
  { containerId, journal, request, credentials, limits: given }: ConversationOptions,
  signal: AbortSignal,
): AdapterConversation {
  const { timing, containers, crashPoint } = deps;
  const limits = { ...conversationTimeouts, ...given };
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  const inbox = new BoundedQueue<Item>(maxWaiting);
  const settled = Promise.withResolvers<void>();
  const outbox = openOutbox(
    timing,
    { swarmId: journal.conversationState.swarmId, containerId, request, credentials },
    journal.lastSeq,
    until,
  );
  let breakOff = (): void => {};
  const line = createConnectionMonitor({
    timing,
    ...limits,
    isPaused: async (within) => {
      const facts = await containers.inspect(containerId, { withDisk: false }, within).catch(() => null);
      return facts?.state === "paused";
    },
    isBusy: () => inbox.isFull,
    onStatus: (status, why) => inbox.post({ kind: "line", status, why }),
    onSilence: () => breakOff(),
  });

  const attached = stayConnectedToAdapter(
    {
      ...deps,
      limits,
      outbox,
      line,
      settled: settled.promise,
      deliver: (group) => inbox.put(group, weightOf(group), until),
      onConnect: (way) => {
        breakOff = way;
      },
    },
    { containerId, journal },
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
            if (item.kind === "ignored") yield { kind: "ignored", count: ++ignored };
            if (item.kind === "line" || item.kind === "end") yield item;
            if (item.kind === "end") return;
          }
        }
      },
    },

    cancel: (words) => outbox.cancel(words),
    resumed: (pausedMs) => outbox.resumed(pausedMs),

    async [Symbol.asyncDispose]() {
      closed.abort(new Error("The owner closed the conversation with the adapter"));
      settled.resolve();
      await Promise.all([attached, watched]);
    },
  };

  /**
   * Writes received messages to disk and then acknowledges them. Acknowledges the adapter's last message at
   * once, because the adapter waits for that acknowledgement before it exits.
   */
  async function keep(items: readonly Item[]): Promise<void> {
    const messages = items.flatMap((item) =>
      item.kind === "message" && isJournalledMessage(item.message) ? [item.message] : [],
    );
    if (messages.length > 0) {
      crashPoint("after-request-before-ack");
      await journal.append(messages);
      crashPoint("after-host-journal-before-ack");
      outbox.markDurable(journal.lastSeq);
    }
    if (items.some((item) => item.kind === "message" && isConversationEndFinal(item.conversationState))) {
      await outbox.acknowledge();
      settled.resolve();
    }
  }
}

/**
 * Returns the number of bytes that a group of received lines takes up in the inbox. Lines without a message
 * count, too, so that a flood of them cannot bypass the inbox's limit.
 */
function weightOf(group: readonly ReceivedLine[]): number {
  return group.reduce((sum, received) => sum + (received.kind === "message" ? received.bytes : 64), 0);
}
