import {
  type AdapterMessage,
  acpProtocol,
  type HostMessage,
  isAdapterMessage,
  isJournalled,
  type JournalledMessage,
} from "./acp-messages.ts";
import type { AdapterPhase, Completion, ErrorMessage } from "./generated/acp.ts";
import type { StoryStatus } from "./generated/swarm-state.ts";

/** Where a conversation stands, by the messages that were accepted. */
export interface KnownConversation {
  readonly swarmId: string;
  readonly attempt: number;
  readonly containerId: string;
  readonly lastSeq: number;
  /** Every story of the task, and nothing else. */
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  /** What ended a run, if no message follows it. */
  readonly end: Completion | (ErrorMessage & { readonly seq: number }) | null;
  /** What the first `hello` of this connection said: all up to its `lastSeq` was written before. Null until it came. */
  readonly announced: { readonly lastSeq: number; readonly phase: AdapterPhase } | null;
}

/** `known`: it was accepted before and changes nothing. `ignored`: of a type that only others know. */
export type Verdict =
  | { readonly kind: "new"; readonly known: KnownConversation }
  | { readonly kind: "known" }
  | { readonly kind: "ignored" }
  | { readonly kind: "violation"; readonly reason: string };

/** A failed or skipped story stays so: another go at it is another attempt, with a sequence of its own. */
const mayBecome: Readonly<Record<StoryStatus, readonly StoryStatus[]>> = {
  pending: ["pending", "in_progress", "skipped"],
  // Again in progress: it was interrupted.
  in_progress: ["in_progress", "completed", "failed"],
  completed: [],
  failed: [],
  skipped: [],
};

/** A conversation of which nothing is known yet. Stories that earlier attempts finished are given as completed. */
export function newConversation(
  subject: Pick<KnownConversation, "swarmId" | "attempt" | "containerId" | "statusById">,
): KnownConversation {
  return { ...subject, lastSeq: 0, end: null, announced: null };
}

/** The same conversation as a new connection finds it: `hello` comes first. */
export function onNewConnection(known: KnownConversation): KnownConversation {
  return { ...known, announced: null };
}

/** The same conversation as a journal tells it: all was written before, and nobody says `hello`. */
export function inJournal(known: KnownConversation): KnownConversation {
  return { ...known, announced: { lastSeq: Number.MAX_SAFE_INTEGER, phase: "finished" } };
}

/**
 * Whether what ended a run was the end of all: nothing follows `completed` and `failed`, and what follows the others in the
 * same connection was written before it. (A later run goes on in the same journal, and is seen by a new connection.)
 */
export function isOver({ end, announced }: KnownConversation): boolean {
  if (!end) return false;
  if (end.type === "completion" && end.payload.status !== "stopped") return true;
  if (!announced) return false;
  return end.seq > announced.lastSeq || (end.seq === announced.lastSeq && announced.phase === "finished");
}

/** What a message of known form means after all that is known. */
export function judgeMessage(known: KnownConversation, message: AdapterMessage | HostMessage): Verdict {
  if (!isAdapterMessage(message)) return violation(`${message.type} is not for an adapter to say`);
  if (message.swarmId !== known.swarmId) return violation("swarmId is that of another swarm");
  if (message.attempt !== known.attempt)
    return violation(`attempt is ${message.attempt} instead of ${known.attempt}`);
  if (message.type === "hello") return judgeHello(known, message);
  if (!known.announced) return violation(`${message.type} came before hello`);
  if (isJournalled(message)) return judgeJournalled(known, message, known.announced.lastSeq);

  // Without a place in the sequence an error is an answer to our own request, for us alone.
  if (message.type !== "heartbeat") return { kind: "new", known };
  const { storyId, phase } = message.payload;
  if (storyId !== undefined && !known.statusById.has(storyId))
    return violation(`${storyId} is no story of this task`);
  if (phase !== "waiting" && isOther(known, message.containerId))
    return violation("containerId is that of another container");
  return { kind: "new", known };
}

/** What a message of a type that is not ours means: nothing, if it is addressed like ours and claims no place in the sequence. */
export function judgeUnknown(known: KnownConversation, fields: Readonly<Record<string, unknown>>): Verdict {
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
  // It cannot be kept, as nobody here can check it; and without it the journal would have a gap.
  if (seq !== undefined) return violation(`${type} is unknown and has a seq`);
  if (!known.announced) return violation(`${type} came before hello`);
  return { kind: "ignored" };
}

function judgeHello(known: KnownConversation, hello: Extract<AdapterMessage, { type: "hello" }>): Verdict {
  const { protocol, lastSeq, phase } = hello.payload;
  if (protocol !== acpProtocol) return violation(`the protocol is not ${acpProtocol}`);
  // Before it has its request, an adapter does not know where it runs.
  if (phase !== "waiting" && isOther(known, hello.containerId))
    return violation("containerId is that of another container");
  if (lastSeq < known.lastSeq)
    return violation(`its journal ends at ${lastSeq} and once had ${known.lastSeq}: it was lost`);
  // A later one answers a request, and says nothing new about what was written before this connection.
  return { kind: "new", known: known.announced ? known : { ...known, announced: { lastSeq, phase } } };
}

function judgeJournalled(known: KnownConversation, message: JournalledMessage, announced: number): Verdict {
  const { seq, type } = message;
  if (seq <= known.lastSeq) return { kind: "known" };
  if (isOver(known)) return violation(`${type} came after ${nameOf(known.end)}`);
  if (seq !== known.lastSeq + 1) return violation(`seq ${seq} came after ${known.lastSeq}`);
  // What was written before this connection may be from an earlier container on the same volume.
  if (seq > announced && isOther(known, message.containerId))
    return violation("containerId is that of another container");

  const next: KnownConversation = { ...known, lastSeq: seq, end: null };
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

function isOther(known: KnownConversation, containerId: string): boolean {
  return containerId !== "" && containerId !== known.containerId;
}

function nameOf(end: KnownConversation["end"]): string {
  return end?.type === "completion" ? `the completion ${end.payload.status}` : "the error that ended it";
}

function violation(reason: string): Verdict {
  return { kind: "violation", reason };
}
