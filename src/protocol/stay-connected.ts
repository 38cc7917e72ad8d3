import type { ErrorMessage, Hello } from "../contract/acp.ts";
import type { ContainerFacts, Containers } from "../engine/containers.ts";
import { SwarmError } from "../errors/errors.ts";
import { backoffMs } from "../text/backoff.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { AdapterConversationEnd } from "./adapter-conversation.ts";
import type { ClockAndRandom } from "./clock-and-random.ts";
import { connectToAdapter } from "./connect-to-adapter.ts";
import type { ConnectionMonitor } from "./connection-monitor.ts";
import type { ConversationTimeouts } from "./conversation-limits.ts";
import type { Outbox } from "./outbox.ts";
import { readVolumeJournal, type VolumeReaderDeps } from "./read-volume-journal.ts";
import type { ReceivedLine } from "./receive-messages.ts";
import { type AdapterConversationState, isConversationEndFinal } from "./rules/message-order.ts";
import type { AdapterMessage } from "./rules/protocol-messages.ts";

export interface AdapterConnectionDeps extends VolumeReaderDeps {
  readonly containers: Pick<Containers, "exec" | "inspect" | "copyOut">;
  readonly timing: ClockAndRandom;
  readonly limits: ConversationTimeouts;
  readonly outbox: Outbox;
  readonly line: ConnectionMonitor;
  /** Passes received lines to the host's inbox. Resolves when the inbox can accept more. */
  readonly deliver: (received: readonly ReceivedLine[]) => Promise<void>;
  /** Resolves when the host has stored the adapter's last message on disk and acknowledged it. */
  readonly settled: Promise<void>;
  /** Called at each new connection to the adapter, with a function that closes that connection. */
  readonly onConnect: (breakOff: () => void) => void;
}

export interface AdapterConnectionOptions {
  readonly containerId: string;
  readonly conversationState: AdapterConversationState;
  /** Returns the sequence number of the last message from the adapter that the host has on disk. */
  readonly durableSeq: () => number;
}

type Disconnection =
  | { readonly kind: "over"; readonly end: AdapterConversationEnd }
  | { readonly kind: "broken"; readonly why: string };

/** The abort reason of a connection to the adapter that the host closes itself. */
class BrokenOff extends Error {}

/**
 * Keeps a connection to an adapter, and reconnects with backoff if it breaks. Ends when the adapter has sent
 * its last message or an invalid one, the container has ended, or the adapter has sent nothing for `lostMs`.
 */
export async function stayConnectedToAdapter(
  deps: AdapterConnectionDeps,
  { containerId, conversationState: start, durableSeq }: AdapterConnectionOptions,
  signal: AbortSignal,
): Promise<AdapterConversationEnd> {
  const { containers, timing, limits, outbox, line } = deps;
  let known = start;
  let hello: Hello | null = null;
  let failures = 0;
  let processes: Extract<AdapterConversationEnd, { kind: "exited" }>["processes"] = null;

  for (;;) {
    const before = isConversationEndFinal(known) ? endOf(known) : null;
    if (before) return before;
    const disconnection = await converse();
    if (disconnection.kind === "over") return disconnection.end;
    line.disconnected(disconnection.why);
    failures += 1;
    const end = await judgeContainer(disconnection.why);
    if (end) return end;
    await timing.wait(backoffMs(failures, timing.random()), signal);
  }

  async function converse(): Promise<Disconnection> {
    const broken = new AbortController();
    const disconnected = AbortSignal.any([signal, broken.signal]);
    const closing = new AbortController();
    let end: AdapterConversationEnd | null = null;
    let isJoined = false;
    let why = "the connection to the adapter ended";
    let diagnostics = (): string => "";
    deps.onConnect(() => broken.abort(new BrokenOff("the adapter sent no messages on an open connection")));
    try {
      await using channel = await connectToAdapter(
        deps,
        { containerId, from: durableSeq(), known },
        disconnected,
      );
      diagnostics = channel.diagnostics;
      for await (const group of channel.received) {
        // After the adapter's last message, only wait for the end of the stream. To break the stream off
        // could lose the host's acknowledgement.
        if (end) continue;
        for (const received of group) {
          if (received.kind === "violation") end = violated(received.reason);
          if (received.kind !== "message" || end) continue;
          known = received.conversationState;
          const { message } = received;
          if (isRefusal(message)) end = { kind: "error", message };
          else if (message.type !== "hello") {
            failures = 0;
            line.messageReceived(message.type === "heartbeat" ? message.payload.idleMs : null);
            if (message.type === "heartbeat") processes = message.payload.processes ?? processes;
          } else if (!isJoined) {
            isJoined = true;
            hello = message;
            line.connected();
            outbox.connected(channel, hello);
          }
          if (isConversationEndFinal(known)) end = endOf(known);
        }
        await deps.deliver(upToEnd(group));
        if (!end) continue;
        if (end.kind === "violation") {
          if (!isJoined && (await channel.hasAttachNeverStarted()))
            return { kind: "broken", why: "the adapter's program cannot start in the container" };
          break;
        }
        // Stop reading: the adapter refused the request. The adapter continues with its earlier request or
        // waits for another one, so it will not close the connection.
        if (end.kind === "error" && isRefusal(end.message)) break;
        await deps.settled;
        void timing
          .wait(limits.closingMs, closing.signal)
          .then(() => broken.abort(new BrokenOff("the conversation with the adapter has ended")))
          .catch(() => {});
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError || error instanceof BrokenOff)) throw error;
      why =
        isJoined && error instanceof BrokenOff
          ? "the adapter accepts connections, but sends nothing"
          : error.message;
    } finally {
      closing.abort();
      outbox.disconnected();
    }
    if (end) return { kind: "over", end };
    return { kind: "broken", why: sanitizeText(diagnostics() || why) };
  }

  /**
   * Determines from the container's state how the conversation with its adapter ended, or returns null if the
   * host must connect again. Waits while the container is paused.
   */
  async function judgeContainer(why: string): Promise<AdapterConversationEnd | null> {
    let facts = await look();
    while (facts !== "unknown" && facts?.state === "paused") {
      line.paused();
      await timing.wait(limits.pausedMs, signal);
      failures = 0;
      facts = await look();
    }
    if (facts === null) return { kind: "gone" };
    if (facts !== "unknown") {
      if (facts.state === "removing") return { kind: "gone" };
      if (facts.state === "exited" || facts.state === "dead") return await readEndedContainer(facts);
    }
    // A hello does not count as a sign of life: an adapter that sends only hellos is lost, too.
    const silentMs = line.silentMs();
    if (silentMs < limits.lostMs) return null;
    const message = sanitizeText(`The adapter sent nothing for ${Math.round(silentMs / 1000)} s: ${why}`);
    return { kind: "lost", reason: { code: "ACP_CONNECTION_LOST", message } };
  }

  async function look(): Promise<ContainerFacts | null | "unknown"> {
    try {
      return await containers.inspect(containerId, { withDisk: false }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      return error.code === "CONTAINER_GONE" ? null : "unknown";
    }
  }

  async function readEndedContainer({
    exitCode,
    memoryExhausted,
  }: ContainerFacts): Promise<AdapterConversationEnd> {
    let unread: string | null = null;
    try {
      for await (const group of readVolumeJournal(deps, { containerId, known }, signal)) {
        for (const received of group) {
          if (received.kind === "violation") return violated(received.reason);
          if (received.kind !== "message") continue;
          if (isRefusal(received.message))
            return violated("the adapter's journal contains an error without a sequence number");
          known = received.conversationState;
        }
        await deps.deliver(upToEnd(group));
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      unread = sanitizeText(error.message);
    }
    const end = endOf(known);
    const isLatest =
      !hello || isConversationEndFinal({ ...known, helloContent: hello.payload }) || exitCode === exitOf(end);
    if (end && isLatest) return end;
    return { kind: "exited", exitCode, memoryExhausted, processes, unread };
  }
}

/**
 * Returns whether this message is the adapter's refusal of the host's task request, because its container
 * runs another task. A refusal has no sequence number, is in no journal, and ends the conversation.
 */
function isRefusal(message: AdapterMessage): message is ErrorMessage {
  return message.type === "error" && message.seq === undefined;
}

/**
 * Returns the lines of a group up to the adapter's last message, and before the first invalid line or
 * refusal.
 */
function upToEnd(group: readonly ReceivedLine[]): readonly ReceivedLine[] {
  const kept: ReceivedLine[] = [];
  for (const received of group) {
    if (received.kind === "violation" || (received.kind === "message" && isRefusal(received.message))) break;
    kept.push(received);
    if (received.kind === "message" && isConversationEndFinal(received.conversationState)) break;
  }
  return kept;
}

function endOf({ end }: AdapterConversationState): AdapterConversationEnd | null {
  if (!end) return null;
  return end.type === "completion" ? { kind: "completion", message: end } : { kind: "error", message: end };
}

/**
 * Returns the exit code that the adapter's container must have after the given end of the conversation, or
 * null if any exit code is possible.
 */
function exitOf(end: AdapterConversationEnd | null): number | null {
  if (end?.kind === "error") return 2;
  if (end?.kind !== "completion") return null;
  return { completed: 0, failed: 1, stopped: 143 }[end.message.payload.status];
}

function violated(message: string): AdapterConversationEnd {
  return { kind: "violation", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
}
