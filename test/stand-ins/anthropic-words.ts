import { type Answer, type ApiWords, newId, type Piece, parts } from "./answers.ts";
import type { Spoken } from "./scenarios.ts";

/** `POST /v1/messages`. */
export const anthropicWords: ApiWords = {
  whole: (answer) => ({ ...messageOf(answer), content: blocksOf(answer), ...endOf(answer) }),
  pieces,
  error: (status, message) => ({ type: "error", error: { type: errorType(status), message } }),
  streamError: (message) => ({
    event: "error",
    data: { type: "error", error: { type: "overloaded_error", message } },
  }),
};

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: unknown;
}

/** The conversation in a request's body. Claude Code puts messages of the system between the others. */
export function anthropicConversation(
  messages: readonly { role: string; content: string | Block[] }[],
): Spoken[] {
  return messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .map(({ role, content }) => {
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const text = blocks.flatMap((block) => (block.type === "text" ? (block.text ?? "") : [])).join("\n");
      // A tool's result and the next prompt can come in one message.
      return { role: role === "assistant" ? "model" : text === "" ? "tool" : "user", text };
    });
}

function* pieces(answer: Answer): Generator<Piece> {
  const piece = (type: string, data: object): Piece => ({ event: type, data: { type, ...data } });
  yield piece("message_start", { message: messageOf(answer) });
  for (const [index, block] of blocksOf(answer).entries()) {
    const { start, deltas } = streamed(block);
    yield piece("content_block_start", { index, content_block: start });
    for (const delta of deltas) yield piece("content_block_delta", { index, delta });
    yield piece("content_block_stop", { index });
  }
  const { usage, ...delta } = endOf(answer);
  yield piece("message_delta", { delta, usage });
  yield piece("message_stop", {});
}

type ContentBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: object | string;
    };

function blocksOf({ thinking, text, calls }: Answer): ContentBlock[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking" as const, thinking, signature: "c3RhbmQtaW4=" }]),
    ...(text === undefined ? [] : [{ type: "text" as const, text }]),
    ...calls.map((call) => ({ type: "tool_use" as const, id: newId("toolu_"), ...call })),
  ];
}

function streamed(block: ContentBlock): { readonly start: object; readonly deltas: Iterable<object> } {
  switch (block.type) {
    case "text":
      return {
        start: { ...block, text: "" },
        deltas: parts(block.text).map((text) => ({ type: "text_delta", text })),
      };
    case "thinking":
      return {
        start: { ...block, thinking: "", signature: "" },
        deltas: [
          { type: "thinking_delta", thinking: block.thinking },
          { type: "signature_delta", signature: block.signature },
        ],
      };
    case "tool_use":
      return {
        start: { ...block, input: {} },
        deltas: parts(JSON.stringify(block.input)).map((text) => ({
          type: "input_json_delta",
          partial_json: text,
        })),
      };
  }
}

function messageOf({ model, usage }: Answer): object {
  return {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf({ ...usage, outputTokens: 1 }),
  };
}

function endOf({ stop, calls, usage }: Answer): { stop_reason: string; stop_sequence: null; usage: object } {
  const ordinary = calls.length > 0 ? "tool_use" : "end_turn";
  return { stop_reason: stop === "end" ? ordinary : stop, stop_sequence: null, usage: usageOf(usage) };
}

function usageOf({ inputTokens, outputTokens }: Answer["usage"]): object {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
    service_tier: "standard",
  };
}

function errorType(status: number): string {
  const types: Readonly<Record<number, string>> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return types[status] ?? "api_error";
}
