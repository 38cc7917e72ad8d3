import type { Ack, Cancel, Credentials, Resumed } from "../contract/acp.ts";
import { maxLineBytesToAdapter } from "./rules/protocol-messages.ts";

/**
 * The type and payload of a message from host to adapter, except the task request. `serializeHostMessage`
 * adds the other fields.
 */
export type HostMessageContent<Message = Ack | Cancel | Credentials | Resumed> = Message extends {
  payload: unknown;
}
  ? Pick<Message, "type" & keyof Message> & { readonly payload: Message["payload"] }
  : never;

export interface MessageAddress {
  readonly swarmId: string;
  readonly containerId: string;
}

/** Serializes a message from host to adapter as one line, with the IDs of the swarm and the container. */
export function serializeHostMessage(
  { swarmId, containerId }: MessageAddress,
  date: Date,
  words: HostMessageContent,
): Uint8Array {
  const { type, payload } = words;
  return toMessageLine(
    Buffer.from(JSON.stringify({ type, timestamp: date.toISOString(), swarmId, containerId, payload })),
  );
}

/**
 * Returns a serialized message as one line that ends with a line break. Throws if the message contains
 * further lines or is too long.
 */
export function toMessageLine(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0x0a);
  if (end >= 0 && end < bytes.length - 1) throw new Error("A message to an adapter has more than one line");
  const line = end >= 0 ? bytes : Buffer.concat([bytes, Buffer.from("\n")]);
  if (line.length > maxLineBytesToAdapter)
    throw new Error(
      `A message to an adapter has ${line.length} bytes; the limit is ${maxLineBytesToAdapter}`,
    );
  return line;
}
