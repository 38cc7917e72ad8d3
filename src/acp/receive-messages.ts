import { type AdapterMessage, deepestToHost, isKnownType, longestToHost } from "../domain/acp-messages.ts";
import { cleanMessage } from "../domain/clean-message.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { AcpMessage } from "../domain/generated/acp.ts";
import { judgeMessage, judgeUnknown, type KnownConversation, type Verdict } from "../domain/message-order.ts";
import { readMessages, type WireLimits } from "../wire/read-messages.ts";

/** The first way in which a value does not fit the form of a message; null when it fits. */
export type FindProblem = (value: unknown) => string | null;

/** What one line turned out to be. After a violation nothing more is read. */
export type Received =
  | {
      readonly kind: "message";
      /** Fit to be shown. */
      readonly message: AdapterMessage;
      /** What is known with it. */
      readonly known: KnownConversation;
      readonly bytes: number;
    }
  | { readonly kind: "known" | "ignored" }
  | { readonly kind: "violation"; readonly reason: string };

const wireLimits: WireLimits = { longestLine: longestToHost, deepest: deepestToHost };

/**
 * What a stream of lines from an adapter says beyond what is known, in groups as it comes: each line is bounded, of known
 * form, in its place and cleaned before anybody sees it.
 */
export async function* receiveMessages(
  source: AsyncIterable<Uint8Array>,
  start: KnownConversation,
  findProblem: FindProblem,
  limits: WireLimits = wireLimits,
): AsyncGenerator<readonly Received[]> {
  let known = start;
  for await (const lines of readMessages(source, limits)) {
    const group: Received[] = [];
    for (const line of lines) {
      const received = line.kind === "violation" ? line : receive(known, line.value, line.bytes, findProblem);
      if (received.kind === "message") known = received.known;
      group.push(received);
      if (received.kind !== "violation") continue;
      yield group;
      return;
    }
    yield group;
  }
}

function receive(
  known: KnownConversation,
  value: unknown,
  bytes: number,
  findProblem: FindProblem,
): Received {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "violation", reason: "a line is no object" };
  const type = "type" in value ? value.type : undefined;
  if (typeof type === "string" && !isKnownType(type))
    return withoutMessage(judgeUnknown(known, value as Record<string, unknown>));
  const problem = findProblem(value);
  if (problem !== null) return { kind: "violation", reason: cleanText(problem) };
  // The schema was asked just now. Cleaned before it is judged, for what is known keeps a part of it.
  const message = cleanMessage(value as AcpMessage);
  const verdict = judgeMessage(known, message);
  if (verdict.kind !== "new") return withoutMessage(verdict);
  return { kind: "message", message: message as AdapterMessage, known: verdict.known, bytes };
}

function withoutMessage(verdict: Verdict): Received {
  if (verdict.kind === "new") throw new Error("A message of unknown type cannot change what is known");
  return verdict.kind === "violation"
    ? { kind: "violation", reason: cleanText(verdict.reason) }
    : { kind: verdict.kind };
}
