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
} from "../../contract/acp.ts";

/** A message that the adapter in a worker's container sends to swarm on the host. */
export type AdapterMessage =
  | Hello
  | ProgressUpdate
  | Activity
  | Usage
  | Checkpoint
  | Heartbeat
  | Completion
  | ErrorMessage;

/** A message that swarm on the host sends to the adapter in a worker's container. */
export type HostMessage = TaskRequest | Credentials | Ack | Cancel | Resumed;

/**
 * An adapter's message with a sequence number. The adapter and the host each write such messages to a
 * journal file of their own.
 */
export type JournalledMessage =
  | ProgressUpdate
  | Activity
  | Usage
  | Checkpoint
  | Completion
  | (ErrorMessage & { readonly seq: number });

/** The version of the protocol between the host and the adapter. Both sides must use the same version. */
export const protocolVersion = "acp/1";

/**
 * The maximum length of a message from an adapter to the host, which is one line, in bytes including the
 * line break.
 */
export const maxLineBytesToHost: number = 64 * 1024;
/**
 * The maximum length of a message from the host to an adapter, which is one line, in bytes including the
 * line break.
 */
export const maxLineBytesToAdapter: number = 8 * 1024 * 1024;
/**
 * The maximum nesting depth of the JSON in an adapter's message to the host. A valid message needs at most
 * five levels.
 */
export const maxJsonDepthToHost = 32;

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

/**
 * Returns whether the protocol's JSON schema has messages of this type, so that swarm can validate such a
 * message.
 */
export function isKnownMessageType(type: string): boolean {
  return adapterTypes.has(type) || hostTypes.has(type);
}

/** Returns whether a message is one that the adapter sends to the host. */
export function isAdapterMessage(message: AdapterMessage | HostMessage): message is AdapterMessage {
  return adapterTypes.has(message.type);
}

/**
 * Returns whether an adapter's message has a sequence number. The adapter and the host write only such
 * messages to their journals.
 */
export function isJournalledMessage(message: AdapterMessage): message is JournalledMessage {
  return "seq" in message && message.seq !== undefined;
}
