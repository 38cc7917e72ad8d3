import type { AcpMessage } from "../contract/acp.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { readMessages, type WireLimits } from "../wire/read-messages.ts";
import {
  type AdapterConversationState,
  judgeMessage,
  judgeUnknownMessage,
  type MessageVerdict,
} from "./rules/message-order.ts";
import {
  type AdapterMessage,
  isKnownMessageType,
  maxJsonDepthToHost,
  maxLineBytesToHost,
} from "./rules/protocol-messages.ts";
import { sanitizeMessage } from "./rules/sanitize-message.ts";

/** Returns the first reason why a value is not a valid message of the protocol, or null if it is one. */
export type MessageValidator = (value: unknown) => string | null;

/**
 * The result of checking one line from an adapter. After a violation of the protocol, no more lines follow.
 */
export type ReceivedLine =
  | {
      readonly kind: "message";
      /** The message, with its texts made safe for display. */
      readonly message: AdapterMessage;
      /** The state of the conversation after this message. */
      readonly conversationState: AdapterConversationState;
      readonly bytes: number;
    }
  | { readonly kind: "known" | "ignored" }
  | { readonly kind: "violation"; readonly reason: string };

const wireLimits: WireLimits = { maxLineLength: maxLineBytesToHost, maxDepth: maxJsonDepthToHost };

/**
 * Reads the lines that an adapter sends, and yields them in groups as they arrive. Before that, checks each
 * line's length, schema and sequence number, and makes its texts safe for display.
 */
export async function* receiveMessages(
  source: AsyncIterable<Uint8Array>,
  start: AdapterConversationState,
  findProblem: MessageValidator,
  limits: WireLimits = wireLimits,
): AsyncGenerator<readonly ReceivedLine[]> {
  let known = start;
  for await (const lines of readMessages(source, limits)) {
    const group: ReceivedLine[] = [];
    for (const line of lines) {
      const received = line.kind === "violation" ? line : receive(known, line.value, line.bytes, findProblem);
      if (received.kind === "message") known = received.conversationState;
      group.push(received);
      if (received.kind !== "violation") continue;
      yield group;
      return;
    }
    yield group;
  }
}

function receive(
  known: AdapterConversationState,
  value: unknown,
  bytes: number,
  findProblem: MessageValidator,
): ReceivedLine {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "violation", reason: "a line is not a JSON object" };
  const type = "type" in value ? value.type : undefined;
  if (typeof type === "string" && !isKnownMessageType(type))
    return withoutMessage(judgeUnknownMessage(known, value as Record<string, unknown>));
  const problem = findProblem(value);
  if (problem !== null) return { kind: "violation", reason: sanitizeText(problem) };
  // The cast is safe: `findProblem` has just checked the value. Clean the message before `judgeMessage`,
  // which stores a part of it in the state.
  const message = sanitizeMessage(value as AcpMessage);
  const verdict = judgeMessage(known, message);
  if (verdict.kind !== "new") return withoutMessage(verdict);
  return { kind: "message", message: message as AdapterMessage, conversationState: verdict.nextState, bytes };
}

function withoutMessage(verdict: Exclude<MessageVerdict, { kind: "new" }>): ReceivedLine {
  return verdict.kind === "violation"
    ? { kind: "violation", reason: sanitizeText(verdict.reason) }
    : { kind: verdict.kind };
}
