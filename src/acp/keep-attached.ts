import type { AdapterMessage } from "../domain/acp-messages.ts";
import { backoffMs } from "../domain/backoff.ts";
import { cleanText } from "../domain/clean-text.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ErrorMessage, Hello } from "../domain/generated/acp.ts";
import { isOver, type KnownConversation } from "../domain/message-order.ts";
import type { ContainerFacts, Containers } from "../ports/containers.ts";
import type { ConversationEnd } from "../ports/conversations.ts";
import type { ConversationLimits } from "./conversation-limits.ts";
import type { LineWatch } from "./line-watch.ts";
import { openChannel } from "./open-channel.ts";
import type { Outbox } from "./outbox.ts";
import { readVolumeJournal, type VolumeDeps } from "./read-volume-journal.ts";
import type { Received } from "./receive-messages.ts";
import type { Timing } from "./timing.ts";

export interface AttachDeps extends VolumeDeps {
  readonly containers: Pick<Containers, "exec" | "look" | "copyOut">;
  readonly timing: Timing;
  readonly limits: ConversationLimits;
  readonly outbox: Outbox;
  readonly line: LineWatch;
  /** Takes what was received, and resolves when more may come. */
  readonly deliver: (received: readonly Received[]) => Promise<void>;
  /** Resolves when the last word is on the disk and acknowledged. */
  readonly settled: Promise<void>;
  /** Gives the way to break the present connection off. */
  readonly onConnect: (breakOff: () => void) => void;
}

export interface AttachSubject {
  readonly containerId: string;
  readonly known: KnownConversation;
  /** The last message that is on the disk. */
  readonly durableSeq: () => number;
}

type Parting =
  | { readonly kind: "over"; readonly end: ConversationEnd }
  | { readonly kind: "broken"; readonly why: string };

/** Why a connection is broken off that nobody else ended. */
class BrokenOff extends Error {}

/**
 * Stays joined to an adapter until it has said its last word, its container has ended, or nothing can be done any more. A
 * lost connection is not a lost worker: it is joined again for as long as its container runs.
 */
export async function keepAttached(
  deps: AttachDeps,
  { containerId, known: start, durableSeq }: AttachSubject,
  signal: AbortSignal,
): Promise<ConversationEnd> {
  const { containers, timing, limits, outbox, line } = deps;
  let known = start;
  let hello: Hello | null = null;
  let failures = 0;
  let processes: Extract<ConversationEnd, { kind: "exited" }>["processes"] = null;

  for (;;) {
    const before = isOver(known) ? endOf(known) : null;
    if (before) return before;
    const parting = await converse();
    if (parting.kind === "over") return parting.end;
    line.lost(parting.why);
    failures += 1;
    const end = await judgeContainer(parting.why);
    if (end) return end;
    await timing.wait(backoffMs(failures, timing.random()), signal);
  }

  async function converse(): Promise<Parting> {
    const broken = new AbortController();
    const parted = AbortSignal.any([signal, broken.signal]);
    const farewell = new AbortController();
    let end: ConversationEnd | null = null;
    let isJoined = false;
    let why = "the connection ended";
    let diagnostics = (): string => "";
    deps.onConnect(() => broken.abort(new BrokenOff("nothing was heard on it")));
    try {
      await using channel = await openChannel(deps, { containerId, from: durableSeq(), known }, parted);
      diagnostics = channel.diagnostics;
      for await (const group of channel.received) {
        // After the last word only the end of the stream is awaited: breaking it off could lose the acknowledgement.
        if (end) continue;
        for (const received of group) {
          if (received.kind === "violation") end = violated(received.reason);
          if (received.kind !== "message" || end) continue;
          known = received.known;
          const { message } = received;
          if (isAnswer(message)) end = { kind: "error", message };
          else if (message.type !== "hello") {
            failures = 0;
            line.heard(message.type === "heartbeat" ? message.payload.idleMs : null);
            if (message.type === "heartbeat") processes = message.payload.processes ?? processes;
          } else if (!isJoined) {
            isJoined = true;
            hello = message;
            line.joined();
            outbox.joined(channel, hello);
          }
          if (isOver(known)) end = endOf(known);
        }
        await deps.deliver(upToEnd(group));
        if (!end) continue;
        if (end.kind === "violation") {
          if (!isJoined && (await channel.isUnstarted())) return { kind: "broken", why: "it does not run" };
          break;
        }
        // It goes on with what it was asked before, or waits: its end is not to be awaited.
        if (end.kind === "error" && isAnswer(end.message)) break;
        await deps.settled;
        void timing
          .wait(limits.farewellMs, farewell.signal)
          .then(() => broken.abort(new BrokenOff("it was over")))
          .catch(() => {});
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError || error instanceof BrokenOff)) throw error;
      why = isJoined && error instanceof BrokenOff ? "it answers, and says no more" : error.message;
    } finally {
      farewell.abort();
      outbox.left();
    }
    if (end) return { kind: "over", end };
    return { kind: "broken", why: cleanText(diagnostics() || why) };
  }

  /** What the end of a connection means, by the container; null for another try. Waits while it is paused. */
  async function judgeContainer(why: string): Promise<ConversationEnd | null> {
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
      if (facts.state === "exited" || facts.state === "dead") return await lastWords(facts);
    }
    // By our clock: one that greets again and again is as lost as one that does not greet.
    const silentMs = line.silentMs();
    if (silentMs < limits.lostMs) return null;
    const message = cleanText(`The adapter was not heard for ${Math.round(silentMs / 1000)} s: ${why}`);
    return { kind: "lost", reason: { code: "ACP_CONNECTION_LOST", message } };
  }

  async function look(): Promise<ContainerFacts | null | "unknown"> {
    try {
      return await containers.look(containerId, { withDisk: false }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      return error.code === "CONTAINER_GONE" ? null : "unknown";
    }
  }

  async function lastWords({ exitCode, memoryExhausted }: ContainerFacts): Promise<ConversationEnd> {
    let unread: string | null = null;
    try {
      for await (const group of readVolumeJournal(deps, { containerId, known }, signal)) {
        for (const received of group) {
          if (received.kind === "violation") return violated(received.reason);
          if (received.kind !== "message") continue;
          if (isAnswer(received.message)) return violated("its journal holds an answer to a request");
          known = received.known;
        }
        await deps.deliver(upToEnd(group));
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      unread = cleanText(error.message);
    }
    const end = endOf(known);
    const isLatest = !hello || isOver({ ...known, announced: hello.payload }) || exitCode === exitOf(end);
    if (end && isLatest) return end;
    return { kind: "exited", exitCode, memoryExhausted, processes, unread };
  }
}

/** Whether it refuses our own request, which only we are told. Nothing more is to be had then: what runs is not ours. */
function isAnswer(message: AdapterMessage): message is ErrorMessage {
  return message.type === "error" && message.seq === undefined;
}

/** What came before a violation or an answer still counts; what came after the last word never does. */
function upToEnd(group: readonly Received[]): readonly Received[] {
  const kept: Received[] = [];
  for (const received of group) {
    if (received.kind === "violation" || (received.kind === "message" && isAnswer(received.message))) break;
    kept.push(received);
    if (received.kind === "message" && isOver(received.known)) break;
  }
  return kept;
}

function endOf({ end }: KnownConversation): ConversationEnd | null {
  if (!end) return null;
  return end.type === "completion" ? { kind: "completion", message: end } : { kind: "error", message: end };
}

/** How a container ends that ended like this. */
function exitOf(end: ConversationEnd | null): number | null {
  if (end?.kind === "error") return 2;
  if (end?.kind !== "completion") return null;
  return { completed: 0, failed: 1, stopped: 143 }[end.message.payload.status];
}

function violated(message: string): ConversationEnd {
  return { kind: "violation", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
}
