/** What the measured calls ask a model for, and what it says: the process that answers and who checks it both know. */
export interface AskedAnswer {
  /** Its number, and what the model says it read: so the gateway's journal can be compared with each answer. */
  readonly call: number;
  readonly isStream: boolean;
  /** So many streams must have begun before any of them goes on. */
  readonly together: number;
  readonly events: number;
}

/** What the model says it wrote. */
export const outputTokensOf = (call: number): number => 2 * call + 1;

export function requestOf(asked: AskedAnswer, contentBytes: number): string {
  const messages = [{ role: "user", content: "x".repeat(contentBytes) }];
  return JSON.stringify({
    model: "m",
    max_tokens: 100,
    stream: asked.isStream,
    metadata: asked,
    messages,
  });
}

/** An answer in its pieces; the first of a stream comes before the others. */
export function answerPieces({ call, isStream, events }: AskedAnswer): readonly [string, ...string[]] {
  const usage = { input_tokens: call, output_tokens: outputTokensOf(call) };
  const message = { id: `msg_${call}`, type: "message", role: "assistant", model: "m", content: [] };
  if (!isStream) return [JSON.stringify({ ...message, usage })];
  const text = `${call} says once more what it said before, `.repeat(3);
  return [
    event("message_start", { message: { ...message, usage: { ...usage, output_tokens: 1 } } }),
    ...Array.from({ length: events }, (_, index) =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: `${text}${index}` } }),
    ),
    event("message_delta", { delta: { stop_reason: "end_turn" }, usage }),
    event("message_stop", {}),
  ];
}

function event(type: string, facts: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...facts })}\n\n`;
}
