import type { AcpMessage, Completion, ErrorMessage, Heartbeat, Hello } from "../../contract/acp.ts";

const adapterTypes = [
  "hello",
  "progress-update",
  "activity",
  "usage",
  "checkpoint",
  "heartbeat",
  "completion",
  "error",
] as const;
const hostTypes: readonly HostMessage["type"][] = ["task-request", "credentials", "ack", "cancel", "resumed"];
const knownTypes: ReadonlySet<string> = new Set([...adapterTypes, ...hostTypes]);

/** A message that the adapter in a worker's container sends to swarm on the host. */
export type AdapterMessage = Extract<AcpMessage, { readonly type: (typeof adapterTypes)[number] }>;

/** A message that swarm on the host sends to the adapter in a worker's container. */
export type HostMessage = Exclude<AcpMessage, AdapterMessage>;

/**
 * An adapter's message with a sequence number. The adapter and the host each write such messages to a
 * journal file of their own.
 */
export type JournalledMessage =
  | Exclude<AdapterMessage, Hello | Heartbeat | ErrorMessage>
  | (ErrorMessage & { readonly seq: number });

/** The exit codes of an adapter's container, by the status in the adapter's completion. */
export const exitCodeByStatus: Readonly<Record<Completion["payload"]["status"], number>> = {
  completed: 0,
  failed: 1,
  stopped: 143,
};

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

/**
 * Returns whether the protocol's JSON schema has messages of this type, so that swarm can validate such a
 * message.
 */
export function isKnownMessageType(type: string): boolean {
  return knownTypes.has(type);
}

/** Returns whether a message is one that the adapter sends to the host. */
export function isAdapterMessage(message: AcpMessage): message is AdapterMessage {
  return adapterTypes.some((type) => type === message.type);
}

/**
 * Returns whether an adapter's message has a sequence number. The adapter and the host write only such
 * messages to their journals.
 */
export function isJournalledMessage(message: AdapterMessage): message is JournalledMessage {
  return "seq" in message && message.seq !== undefined;
}
