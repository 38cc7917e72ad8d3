import type {
  Ack,
  Activity,
  Cancel,
  Checkpoint,
  Completion,
  Credentials,
  ErrorMessage,
  Heartbeat,
  Hello,
  ProgressUpdate,
  Resumed,
  TaskRequest,
  Usage,
} from "./generated/acp.ts";

/** A message from the adapter. */
export type AdapterMessage =
  | Hello
  | ProgressUpdate
  | Activity
  | Usage
  | Checkpoint
  | Heartbeat
  | Completion
  | ErrorMessage;

/** A message from the host. */
export type HostMessage = TaskRequest | Credentials | Ack | Cancel | Resumed;

/** A message with a sequence number, which both sides write to their journals. */
export type JournalledMessage =
  | ProgressUpdate
  | Activity
  | Usage
  | Checkpoint
  | Completion
  | (ErrorMessage & { readonly seq: number });

/** The version of the protocol that both sides must speak. */
export const protocolVersion = "acp/1";

/** The longest line to the host, in bytes with its line break. */
export const maxLengthToHost: number = 64 * 1024;
/** The longest line to the adapter, in bytes with its line break. */
export const maxLengthToAdapter: number = 8 * 1024 * 1024;
/** The nesting limit of messages to the host, which nest five deep. Only requests, to adapters, nest deeper. */
export const maxDepthToHost = 32;

const adapterTypes: ReadonlySet<string> = new Set([
  "hello",
  "progress-update",
  "activity",
  "usage",
  "checkpoint",
  "heartbeat",
  "completion",
  "error",
] satisfies AdapterMessage["type"][]);

const hostTypes: ReadonlySet<string> = new Set([
  "task-request",
  "credentials",
  "ack",
  "cancel",
  "resumed",
] satisfies HostMessage["type"][]);

/** Whether messages of this type have a form that can be checked. */
export function isKnownType(type: string): boolean {
  return adapterTypes.has(type) || hostTypes.has(type);
}

/** Whether a message of known form goes from adapter to host. */
export function isAdapterMessage(message: AdapterMessage | HostMessage): message is AdapterMessage {
  return adapterTypes.has(message.type);
}

/** Whether a message has a sequence number. */
export function isJournalled(message: AdapterMessage): message is JournalledMessage {
  return "seq" in message && message.seq !== undefined;
}
