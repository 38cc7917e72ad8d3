import type { Cancel, Hello } from "../contract/acp.ts";
import { SwarmError } from "../errors/errors.ts";
import { rejectWhenAborted } from "./bounded-queue.ts";
import type { ClockAndRandom } from "./clock-and-random.ts";
import type { AdapterConnection } from "./connect-to-adapter.ts";
import {
  type HostMessageContent,
  type MessageAddress,
  serializeHostMessage,
  toMessageLine,
} from "./host-message-lines.ts";

/**
 * Sends the host's messages to an adapter. Without a connection, keeps the messages for the next connection.
 */
export interface Outbox {
  /**
   * Sends all waiting messages to the adapter over a new connection. Call this function after the adapter's
   * hello.
   */
  connected(channel: AdapterConnection, hello: Hello): void;
  disconnected(): void;
  /**
   * Records that all the adapter's messages up to number `seq` are on the host's disk. The outbox
   * acknowledges them soon, in batches.
   */
  markDurable(seq: number): void;
  /**
   * Acknowledges, without delay, all the adapter's messages that are on the host's disk. Resolves when the
   * container engine has accepted the acknowledgement, or after a timeout.
   */
  acknowledge(): Promise<void>;
  cancel(words: Cancel["payload"]): Promise<void>;
  resumed(pausedMs: number): Promise<void>;
}

export interface OutboxOptions extends MessageAddress {
  /**
   * The task request as one line. The host sends this line, unchanged, whenever the adapter has no task
   * request yet.
   */
  readonly request: Uint8Array;
  /**
   * Returns the credentials that the host sends to the agent, or null if the agent needs none. Called at each
   * new connection.
   */
  readonly credentials: () => Readonly<Record<string, string>> | null;
}

const ackEvery = 100;
const ackWithinMs = 50;
const lastAckWithinMs = 2_000;

/**
 * Opens the outbox for an adapter. `durableSeq` is the number of the adapter's last message that is already
 * on the host's disk. Throws if the task request is too long.
 */
export function openOutbox(
  timing: ClockAndRandom,
  { request, credentials, ...address }: OutboxOptions,
  durableSeq: number,
  signal: AbortSignal,
): Outbox {
  const requestLine = toMessageLine(request);
  let channel: AdapterConnection | null = null;
  let durable = durableSeq;
  let acknowledged = 0;
  let isAckDue = false;
  let cancelled: Cancel["payload"] | null = null;
  let pausedMs = 0;
  let lastSend: Promise<void> = Promise.resolve();

  const send = (line: Uint8Array): Promise<void> => {
    const target = channel;
    if (!target) return Promise.resolve();
    // Ignore a failed write: the reader notices the broken connection, and `joined` sends the waiting
    // messages on the next one.
    lastSend = lastSend.then(() =>
      target === channel ? target.send(line).catch(forgiveFailure) : undefined,
    );
    return lastSend;
  };
  const sendMessage = (words: HostMessageContent): Promise<void> =>
    send(serializeHostMessage(address, timing.date(), words));
  const acknowledge = async (): Promise<void> => {
    if (!channel || durable === acknowledged) return;
    acknowledged = durable;
    await sendMessage({ type: "ack", payload: { seq: durable } });
  };

  return {
    connected(joining, hello) {
      channel = joining;
      lastSend = Promise.resolve();
      acknowledged = 0;
      void acknowledge();
      const env = credentials();
      if (env && hello.payload.phase !== "finished")
        void sendMessage({ type: "credentials", payload: { env: { ...env } } });
      // If the task is cancelled, do not send the request that would start it.
      if (cancelled) void sendMessage({ type: "cancel", payload: cancelled });
      else if (hello.payload.phase === "waiting") void send(requestLine);
      if (pausedMs > 0) void sendMessage({ type: "resumed", payload: { pausedMs } });
      pausedMs = 0;
    },

    disconnected() {
      channel = null;
      lastSend = Promise.resolve();
    },

    markDurable(seq) {
      durable = seq;
      if (durable - acknowledged >= ackEvery) void acknowledge();
      else if (!isAckDue) {
        isAckDue = true;
        timing
          .wait(ackWithinMs, signal)
          .then(acknowledge)
          .catch(() => {})
          .finally(() => {
            isAckDue = false;
          });
      }
    },

    async acknowledge() {
      const done = new AbortController();
      const enough = timing.wait(lastAckWithinMs, done.signal).catch(() => {});
      await rejectWhenAborted(Promise.race([acknowledge().then(() => lastSend), enough]), signal).finally(
        () => done.abort(),
      );
    },

    async cancel(words) {
      cancelled = words;
      await sendMessage({ type: "cancel", payload: words });
    },

    async resumed(ms) {
      if (channel) await sendMessage({ type: "resumed", payload: { pausedMs: Math.round(ms) } });
      else pausedMs += Math.round(ms);
    },
  };
}

function forgiveFailure(error: unknown): void {
  if (!(error instanceof SwarmError)) throw error;
}
