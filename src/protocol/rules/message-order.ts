import type { AdapterPhase, Completion, ErrorMessage } from "../../contract/acp.ts";
import type { StoryStatus } from "../../contract/swarm-state.ts";
import {
  type AdapterMessage,
  type HostMessage,
  isAdapterMessage,
  isJournalledMessage,
  type JournalledMessage,
  protocolVersion,
} from "./protocol-messages.ts";

/**
 * What the host knows about its connection to one worker's adapter from the messages that it has accepted.
 */
export interface AdapterConversationState {
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
  readonly lastSeq: number;
  /**
   * The status of each story of the worker's task, by story ID. A message about any other story violates the
   * protocol.
   */
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /**
   * The completion or error message with which the adapter ended its work. Null if there was none, or if the
   * adapter continued its work with a later message.
   */
  readonly end: Completion | (ErrorMessage & { readonly seq: number }) | null;
  /**
   * The content of the first `hello` message on the present connection; null until the host receives it. The
   * adapter wrote its messages up to the sequence number `lastSeq` before this connection.
   */
  readonly helloContent: { readonly lastSeq: number; readonly phase: AdapterPhase } | null;
}

/**
 * The host's verdict about a message from an adapter: `new`, `known` if the host has already accepted this
 * message, `ignored` if this version of swarm does not know the message's type, or `violation`.
 */
export type MessageVerdict =
  | { readonly kind: "new"; readonly nextState: AdapterConversationState }
  | { readonly kind: "known" }
  | { readonly kind: "ignored" }
  | { readonly kind: "violation"; readonly reason: string };

/**
 * The statuses to which a story's status may change, by its current status. In one attempt, a completed,
 * failed or skipped story never changes: a retry is a new attempt with its own sequence numbers.
 */
const mayBecome: Readonly<Record<StoryStatus, readonly StoryStatus[]>> = {
  pending: ["pending", "in_progress", "skipped"],
  // A second `in_progress` is valid: the story was interrupted and begins again.
  in_progress: ["in_progress", "completed", "failed"],
  completed: [],
  failed: [],
  skipped: [],
};

/**
 * Returns the host's state before an adapter's first message in an attempt. In `statusById`, stories that
 * earlier attempts completed must already have the status `completed`.
 */
export function newConversationState(
  subject: Pick<AdapterConversationState, "swarmId" | "attempt" | "containerId" | "statusById">,
): AdapterConversationState {
  return { ...subject, lastSeq: 0, end: null, helloContent: null };
}

/** Returns the host's state for a new connection, on which the adapter must send `hello` first. */
export function conversationForNewConnection(known: AdapterConversationState): AdapterConversationState {
  return { ...known, helloContent: null };
}

/**
 * Returns the host's state for replaying its journal of received messages, which contains no `hello`. All
 * messages in the journal count as written before the present connection.
 */
export function conversationForJournalReplay(known: AdapterConversationState): AdapterConversationState {
  return { ...known, helloContent: { lastSeq: Number.MAX_SAFE_INTEGER, phase: "finished" } };
}

/**
 * Returns whether the adapter's message in `end` is final:
 * - A completion with the status `completed` or `failed` is always final.
 * - Any other message in `end` is final if the adapter sent it over the present connection.
 * - An older message in `end` is final if `hello` says that the adapter is finished and that this was its
 *   last message. Otherwise, the adapter may have continued its work.
 */
export function isConversationEndFinal({ end, helloContent }: AdapterConversationState): boolean {
  if (!end) return false;
  if (end.type === "completion" && end.payload.status !== "stopped") return true;
  if (!helloContent) return false;
  return (
    end.seq > helloContent.lastSeq || (end.seq === helloContent.lastSeq && helloContent.phase === "finished")
  );
}

/**
 * Decides whether an adapter's message of a known type is valid at this point of the protocol, and whether
 * the host has not accepted it before.
 */
export function judgeMessage(
  nextState: AdapterConversationState,
  message: AdapterMessage | HostMessage,
): MessageVerdict {
  if (!isAdapterMessage(message))
    return violation(`the sandbox sent ${message.type}, which only the host may send`);
  if (message.swarmId !== nextState.swarmId) return otherSwarm;
  if (message.attempt !== nextState.attempt)
    return violation(`the message belongs to attempt ${message.attempt} instead of ${nextState.attempt}`);
  if (message.type === "hello") return judgeHello(nextState, message);
  if (!nextState.helloContent) return violation(`the adapter sent ${message.type} before hello`);
  if (isJournalledMessage(message))
    return judgeJournalled(nextState, message, nextState.helloContent.lastSeq);

  // An error without a `seq` is valid: it answers this host's own request.
  if (message.type !== "heartbeat") return accepted(nextState);
  const { storyId, phase } = message.payload;
  if (storyId !== undefined && !nextState.statusById.has(storyId))
    return violation(`the task has no story ${storyId}`);
  if (phase !== "waiting" && isOther(nextState, message.containerId)) return otherContainer;
  return accepted(nextState);
}

/**
 * Decides about an adapter's message of an unknown type. The host ignores the message if its common fields
 * are valid and it has no `seq`; otherwise the message violates the protocol.
 */
export function judgeUnknownMessage(
  known: AdapterConversationState,
  fields: Readonly<Record<string, unknown>>,
): Exclude<MessageVerdict, { kind: "new" }> {
  const { type, timestamp, swarmId, attempt, containerId, payload, seq } = fields;
  if (typeof type !== "string" || !/^[a-z][a-z0-9-]{0,49}$/.test(type))
    return violation("the message has a malformed type");
  if (typeof timestamp !== "string" || !/^\d{4}-\d{2}-\d{2}T[\d:.]{8,18}Z$/.test(timestamp))
    return violation(`the message ${type} has an invalid timestamp`);
  if (swarmId !== known.swarmId) return otherSwarm;
  if (attempt !== known.attempt) return violation(`the message ${type} belongs to another attempt`);
  if (typeof containerId !== "string" || !/^([0-9a-f]{12,64})?$/.test(containerId))
    return violation(`the message ${type} has an invalid containerId`);
  if (typeof payload !== "object" || payload === null) return violation(`the message ${type} has no payload`);
  // The host cannot validate the content, so it cannot journal the message. To skip the `seq` would leave a gap.
  if (seq !== undefined)
    return violation(`the message has a sequence number (seq), but its type ${type} is unknown`);
  if (!known.helloContent) return violation(`the adapter sent ${type} before hello`);
  return { kind: "ignored" };
}

function judgeHello(
  known: AdapterConversationState,
  hello: Extract<AdapterMessage, { type: "hello" }>,
): MessageVerdict {
  const { protocol, lastSeq, phase } = hello.payload;
  if (protocol !== protocolVersion)
    return violation(`the adapter does not use the protocol ${protocolVersion}`);
  // While an adapter waits for its request, it does not know the id of its container yet.
  if (phase !== "waiting" && isOther(known, hello.containerId)) return otherContainer;
  if (lastSeq < known.lastSeq)
    return violation(
      `a part of the worker's journal was lost: the journal ends at message ${lastSeq}, but the owner already received ${known.lastSeq}`,
    );
  // Only a connection's first `hello` counts. A later one answers a request, and says nothing about older messages.
  return accepted(known.helloContent ? known : { ...known, helloContent: { lastSeq, phase } });
}

function judgeJournalled(
  known: AdapterConversationState,
  message: JournalledMessage,
  announced: number,
): MessageVerdict {
  const { seq, type } = message;
  if (seq <= known.lastSeq) return { kind: "known" };
  if (isConversationEndFinal(known)) return violation(`the adapter sent ${type} after ${nameOf(known.end)}`);
  if (seq !== known.lastSeq + 1)
    return violation(
      `the adapter sent seq ${seq} after seq ${known.lastSeq}: at least one message is missing`,
    );
  // Messages that are older than the connection may come from an earlier container on the same volume.
  if (seq > announced && isOther(known, message.containerId)) return otherContainer;

  const next: AdapterConversationState = { ...known, lastSeq: seq, end: null };
  if (type === "completion" || type === "error") return accepted({ ...next, end: message });
  const { storyId } = message.payload;
  const status = known.statusById.get(storyId);
  if (!status) return violation(`the task has no story ${storyId}`);
  if (type !== "progress-update") return accepted(next);
  const becomes = message.payload.status;
  if (!mayBecome[status].includes(becomes))
    return violation(`the status of the story ${storyId} is ${status} and cannot change to ${becomes}`);
  if (becomes === status) return accepted(next);
  return accepted({ ...next, statusById: new Map([...known.statusById, [storyId, becomes]]) });
}

function isOther(known: AdapterConversationState, containerId: string): boolean {
  return containerId !== "" && containerId !== known.containerId;
}

function nameOf(end: AdapterConversationState["end"]): string {
  return end?.type === "completion"
    ? `the completion with status ${end.payload.status}`
    : "the error that ended the attempt";
}

function accepted(nextState: AdapterConversationState): MessageVerdict {
  return { kind: "new", nextState };
}

function violation(reason: string): Exclude<MessageVerdict, { kind: "new" }> {
  return { kind: "violation", reason };
}

const otherContainer = violation("the message has the containerId of another container");
const otherSwarm = violation("the message has the swarmId of another swarm");
