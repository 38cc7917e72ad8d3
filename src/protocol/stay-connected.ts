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
import type { HostJournal } from "./open-host-journal.ts";
import type { Outbox } from "./outbox.ts";
import { readVolumeJournal, type VolumeReaderDeps } from "./read-volume-journal.ts";
import type { ReceivedLine } from "./receive-messages.ts";
import { type AdapterConversationState, isConversationEndFinal } from "./rules/message-order.ts";
import { type AdapterMessage, exitCodeByStatus } from "./rules/protocol-messages.ts";

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
  /** The host's journal of this attempt, which contains the messages that the host has on disk. */
  readonly journal: Pick<HostJournal, "lastSeq" | "conversationState">;
}

/** A connection that broke before the end of the conversation. */
interface BrokenConnection {
  readonly kind: "broken";
  readonly why: string;
}

/** What the host has learnt from an adapter over all its connections. */
interface Progress {
  known: AdapterConversationState;
  hello: Hello | null;
  processes: Extract<AdapterConversationEnd, { kind: "exited" }>["processes"];
  /** How many connections in a row have failed without a message other than a hello. */
  failures: number;
}

/** The abort reason of a connection to the adapter that the host closes itself. */
class BrokenOff extends Error {}

/**
 * Keeps a connection to an adapter, and reconnects with backoff if it breaks. Ends when the adapter has sent
 * its last message or an invalid one, the container has ended, or the adapter has sent nothing for `lostMs`.
 */
export async function stayConnectedToAdapter(
  deps: AdapterConnectionDeps,
  options: AdapterConnectionOptions,
  signal: AbortSignal,
): Promise<AdapterConversationEnd> {
  const { timing, line } = deps;
  const { containerId, journal } = options;
  const progress: Progress = {
    known: { ...journal.conversationState, containerId },
    hello: null,
    processes: null,
    failures: 0,
  };
  for (;;) {
    const before = finalEndOf(progress.known);
    if (before) return before;
    const disconnection = await converse(deps, options, progress, signal);
    if (disconnection.kind !== "broken") return disconnection;
    line.disconnected(disconnection.why);
    progress.failures += 1;
    const end = await judgeContainer(deps, containerId, progress, disconnection.why, signal);
    if (end) return end;
    await timing.wait(backoffMs(progress.failures, timing.random()), signal);
  }
}

/** Exchanges messages with the adapter over one connection, until the conversation or the connection ends. */
async function converse(
  deps: AdapterConnectionDeps,
  { containerId, journal }: AdapterConnectionOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<AdapterConversationEnd | BrokenConnection> {
  const { timing, limits, outbox, line } = deps;
  const broken = new AbortController();
  const closing = new AbortController();
  let end: AdapterConversationEnd | null = null;
  let isJoined = false;
  let why = "the connection to the adapter ended";
  let diagnostics = (): string => "";
  deps.onConnect(() => broken.abort(new BrokenOff("the adapter sent no messages on an open connection")));
  try {
    await using channel = await connectToAdapter(
      deps,
      { containerId, from: journal.lastSeq, known: progress.known },
      AbortSignal.any([signal, broken.signal]),
    );
    diagnostics = channel.diagnostics;
    const onMessage = (message: AdapterMessage): void => {
      if (message.type !== "hello") {
        progress.failures = 0;
        line.messageReceived(message.type === "heartbeat" ? message.payload.idleMs : null);
        if (message.type === "heartbeat")
          progress.processes = message.payload.processes ?? progress.processes;
      } else if (!isJoined) {
        isJoined = true;
        progress.hello = message;
        line.connected();
        outbox.connected(channel, message);
      }
    };
    for await (const group of channel.received) {
      // After the adapter's last message, only wait for the end of the stream. To break the stream off could
      // lose the host's acknowledgement.
      if (end) continue;
      const accepted = accept(progress, group, onMessage);
      end = accepted.end;
      await deps.deliver(accepted.lines);
      if (!end) continue;
      if (end.kind === "violation") {
        if (!isJoined && (await channel.hasAttachNeverStarted()))
          return { kind: "broken", why: "the adapter's program cannot start in the container" };
        break;
      }
      // Stop reading: the adapter refused the request. The adapter continues with its earlier request or waits
      // for another one, so it will not close the connection.
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
  return end ?? { kind: "broken", why: sanitizeText(diagnostics() || why) };
}

/**
 * Accepts the lines of a group up to the adapter's last message, and before the first invalid line or refusal.
 * Returns these lines, and the end of the conversation if the group contains it.
 */
function accept(
  progress: Progress,
  group: readonly ReceivedLine[],
  onMessage: (message: AdapterMessage) => void = () => {},
): { readonly lines: readonly ReceivedLine[]; readonly end: AdapterConversationEnd | null } {
  for (const [at, received] of group.entries()) {
    const before = group.slice(0, at);
    if (received.kind === "violation") return { lines: before, end: violated(received.reason) };
    if (received.kind !== "message") continue;
    const { message } = received;
    progress.known = received.conversationState;
    if (isRefusal(message)) return { lines: before, end: { kind: "error", message } };
    onMessage(message);
    const end = finalEndOf(progress.known);
    if (end) return { lines: [...before, received], end };
  }
  return { lines: group, end: null };
}

/**
 * Determines from the container's state how the conversation with its adapter ended, or returns null if the
 * host must connect again. Waits while the container is paused.
 */
async function judgeContainer(
  deps: AdapterConnectionDeps,
  containerId: string,
  progress: Progress,
  why: string,
  signal: AbortSignal,
): Promise<AdapterConversationEnd | null> {
  const { timing, limits, line } = deps;
  /** Returns null if the container is gone, and undefined if the engine did not say how the container is. */
  const look = async (): Promise<ContainerFacts | null | undefined> => {
    try {
      return await deps.containers.inspect(containerId, { withDisk: false }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      return error.code === "CONTAINER_GONE" ? null : undefined;
    }
  };
  let facts = await look();
  while (facts?.state === "paused") {
    line.paused();
    await timing.wait(limits.pausedMs, signal);
    progress.failures = 0;
    facts = await look();
  }
  if (facts === null || facts?.state === "removing") return { kind: "gone" };
  if (facts?.state === "exited" || facts?.state === "dead")
    return readEndedContainer(deps, containerId, progress, facts, signal);
  // A hello does not count as a sign of life: an adapter that sends only hellos is lost, too.
  const silentMs = line.silentMs();
  if (silentMs < limits.lostMs) return null;
  const message = sanitizeText(`The adapter sent nothing for ${Math.round(silentMs / 1000)} s: ${why}`);
  return { kind: "lost", reason: { code: "ACP_CONNECTION_LOST", message } };
}

/** Reads the rest of the adapter's journal in an ended container, and determines how the conversation ended. */
async function readEndedContainer(
  deps: AdapterConnectionDeps,
  containerId: string,
  progress: Progress,
  { exitCode, memoryExhausted }: ContainerFacts,
  signal: AbortSignal,
): Promise<AdapterConversationEnd> {
  const { hello, processes } = progress;
  let unread: string | null = null;
  try {
    for await (const group of readVolumeJournal(deps, { containerId, known: progress.known }, signal)) {
      for (const received of group) {
        if (received.kind === "violation") return violated(received.reason);
        if (received.kind === "message" && isRefusal(received.message))
          return violated("the adapter's journal contains an error without a sequence number");
      }
      await deps.deliver(accept(progress, group).lines);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SwarmError)) throw error;
    unread = sanitizeText(error.message);
  }
  const end = endOf(progress.known);
  const isLatest =
    !hello ||
    isConversationEndFinal({ ...progress.known, helloContent: hello.payload }) ||
    exitCode === exitOf(end);
  if (end && isLatest) return end;
  return { kind: "exited", exitCode, memoryExhausted, processes, unread };
}

/**
 * Returns whether this message is the adapter's refusal of the host's task request, because its container
 * runs another task. A refusal has no sequence number, is in no journal, and ends the conversation.
 */
function isRefusal(message: AdapterMessage): message is ErrorMessage {
  return message.type === "error" && message.seq === undefined;
}

function finalEndOf(known: AdapterConversationState): AdapterConversationEnd | null {
  return isConversationEndFinal(known) ? endOf(known) : null;
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
  return exitCodeByStatus[end.message.payload.status];
}

function violated(message: string): AdapterConversationEnd {
  return { kind: "violation", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
}
