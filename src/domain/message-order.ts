import {
  type AdapterMessage,
  type HostMessage,
  isAdapterMessage,
  isJournalled,
  type JournalledMessage,
  protocolVersion,
} from "./acp-messages.ts";
import type { AdapterPhase, Completion, ErrorMessage } from "./generated/acp.ts";
import type { StoryStatus } from "./generated/swarm-state.ts";

/** The state of a conversation after the messages that the host accepted. */
export interface ConversationState {
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
  readonly lastSeq: number;
  /** The status of every story of the task; there are no other stories. */
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** The message that ended a run, if no message follows it. */
  readonly end: Completion | (ErrorMessage & { readonly seq: number }) | null;
  /** The first `hello` of this connection; null before it. Messages up to its `lastSeq` are older than the connection. */
  readonly announced: { readonly lastSeq: number; readonly phase: AdapterPhase } | null;
}

/** `known`: the host accepted it before, and it changes nothing. `ignored`: this version does not know its type. */
export type Verdict =
  | { readonly kind: "new"; readonly known: ConversationState }
  | { readonly kind: "known" }
  | { readonly kind: "ignored" }
  | { readonly kind: "violation"; readonly reason: string };

/** A failed or skipped story stays so: a retry is another attempt, with a sequence of its own. */
const mayBecome: Readonly<Record<StoryStatus, readonly StoryStatus[]>> = {
  pending: ["pending", "in_progress", "skipped"],
  // `in_progress` once more: the story was interrupted.
  in_progress: ["in_progress", "completed", "failed"],
  completed: [],
  failed: [],
  skipped: [],
};

/** A conversation before its first message. The caller passes stories that earlier attempts finished as completed. */
export function newConversation(
  subject: Pick<ConversationState, "swarmId" | "attempt" | "containerId" | "statusById">,
): ConversationState {
  return { ...subject, lastSeq: 0, end: null, announced: null };
}

/** The same conversation at the start of a new connection, which begins with `hello`. */
export function onNewConnection(known: ConversationState): ConversationState {
  return { ...known, announced: null };
}

/** The same conversation for the replay of a journal, which holds no `hello` and only messages from before. */
export function inJournal(known: ConversationState): ConversationState {
  return { ...known, announced: { lastSeq: Number.MAX_SAFE_INTEGER, phase: "finished" } };
}

/**
 * Whether the end of a run is final. `completed` and `failed` always are. Any other end is final if it came over this
 * connection, or if the journal ended with it and the adapter is finished. (A later run continues the same journal over a
 * new connection.)
 */
export function isOver({ end, announced }: ConversationState): boolean {
  if (!end) return false;
  if (end.type === "completion" && end.payload.status !== "stopped") return true;
  if (!announced) return false;
  return end.seq > announced.lastSeq || (end.seq === announced.lastSeq && announced.phase === "finished");
}

/** Judges a message of known form by the conversation so far. */
export function judgeMessage(known: ConversationState, message: AdapterMessage | HostMessage): Verdict {
  if (!isAdapterMessage(message)) return violation(`${message.type} is not for an adapter to send`);
  if (message.swarmId !== known.swarmId) return violation("swarmId is that of another swarm");
  if (message.attempt !== known.attempt)
    return violation(`attempt is ${message.attempt} instead of ${known.attempt}`);
  if (message.type === "hello") return judgeHello(known, message);
  if (!known.announced) return violation(`${message.type} came before hello`);
  if (isJournalled(message)) return judgeJournalled(known, message, known.announced.lastSeq);

  // An error without a `seq` answers this host's own request.
  if (message.type !== "heartbeat") return { kind: "new", known };
  const { storyId, phase } = message.payload;
  if (storyId !== undefined && !known.statusById.has(storyId))
    return violation(`${storyId} is no story of this task`);
  if (phase !== "waiting" && isOther(known, message.containerId))
    return violation("containerId is that of another container");
  return { kind: "new", known };
}

/** Judges a message of an unknown type: the host ignores it if its envelope is valid and it has no `seq`. */
export function judgeUnknown(known: ConversationState, fields: Readonly<Record<string, unknown>>): Verdict {
  const { type, timestamp, swarmId, attempt, containerId, payload, seq } = fields;
  if (typeof type !== "string" || !/^[a-z][a-z0-9-]{0,49}$/.test(type))
    return violation("type has not the form of a type");
  if (typeof timestamp !== "string" || !/^\d{4}-\d{2}-\d{2}T[\d:.]{8,18}Z$/.test(timestamp))
    return violation(`the timestamp of ${type} is none`);
  if (swarmId !== known.swarmId) return violation("swarmId is that of another swarm");
  if (attempt !== known.attempt) return violation(`the attempt of ${type} is another one`);
  if (typeof containerId !== "string" || !/^([0-9a-f]{12,64})?$/.test(containerId))
    return violation(`the containerId of ${type} is none`);
  if (typeof payload !== "object" || payload === null) return violation(`${type} has no payload`);
  // The host cannot check its content, so it cannot journal it; and without it the journal would have a gap.
  if (seq !== undefined) return violation(`${type} is unknown and has a seq`);
  if (!known.announced) return violation(`${type} came before hello`);
  return { kind: "ignored" };
}

function judgeHello(known: ConversationState, hello: Extract<AdapterMessage, { type: "hello" }>): Verdict {
  const { protocol, lastSeq, phase } = hello.payload;
  if (protocol !== protocolVersion) return violation(`the protocol is not ${protocolVersion}`);
  // Before it has its request, an adapter does not know its container's id.
  if (phase !== "waiting" && isOther(known, hello.containerId))
    return violation("containerId is that of another container");
  if (lastSeq < known.lastSeq)
    return violation(`its journal ends at ${lastSeq} and once had ${known.lastSeq}: it was lost`);
  // A later `hello` answers a request, and adds nothing about messages from before this connection.
  return { kind: "new", known: known.announced ? known : { ...known, announced: { lastSeq, phase } } };
}

function judgeJournalled(known: ConversationState, message: JournalledMessage, announced: number): Verdict {
  const { seq, type } = message;
  if (seq <= known.lastSeq) return { kind: "known" };
  if (isOver(known)) return violation(`${type} came after ${nameOf(known.end)}`);
  if (seq !== known.lastSeq + 1) return violation(`seq ${seq} came after ${known.lastSeq}`);
  // Messages from before this connection may come from an earlier container on the same volume.
  if (seq > announced && isOther(known, message.containerId))
    return violation("containerId is that of another container");

  const next: ConversationState = { ...known, lastSeq: seq, end: null };
  if (type === "completion" || type === "error") return { kind: "new", known: { ...next, end: message } };
  const { storyId } = message.payload;
  const status = known.statusById.get(storyId);
  if (!status) return violation(`${storyId} is no story of this task`);
  if (type !== "progress-update") return { kind: "new", known: next };
  const becomes = message.payload.status;
  if (!mayBecome[status].includes(becomes))
    return violation(`${storyId} is ${status} and cannot become ${becomes}`);
  if (becomes === status) return { kind: "new", known: next };
  return { kind: "new", known: { ...next, statusById: new Map([...known.statusById, [storyId, becomes]]) } };
}

function isOther(known: ConversationState, containerId: string): boolean {
  return containerId !== "" && containerId !== known.containerId;
}

function nameOf(end: ConversationState["end"]): string {
  return end?.type === "completion" ? `the completion ${end.payload.status}` : "the error that ended it";
}

function violation(reason: string): Verdict {
  return { kind: "violation", reason };
}
