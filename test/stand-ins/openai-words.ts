import { type Answer, type ApiWords, newId, type Piece, parts } from "./answers.ts";
import type { Spoken } from "./scenarios.ts";

interface Item {
  readonly role?: string;
  readonly type?: string;
  readonly content?: string | readonly { readonly text?: string }[] | null;
}

const callTypes = ["function_call", "custom_tool_call", "local_shell_call", "reasoning"];

/** The conversation in a request to either of the two: `input` or `messages`. */
export function openaiConversation(items: string | readonly Item[]): Spoken[] {
  if (typeof items === "string") return [{ role: "user", text: items }];
  return items
    .filter(({ role }) => role !== "system" && role !== "developer")
    .map(({ role, type = "", content }) => ({
      role: role === "user" ? "user" : role === "assistant" || callTypes.includes(type) ? "model" : "tool",
      text: typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("\n"),
    }));
}

function errorBody(status: number, message: string): object {
  const code = { 401: "invalid_api_key", 403: "forbidden", 429: "rate_limit_exceeded" }[status] ?? null;
  return { error: { type: status < 500 ? "invalid_request_error" : "server_error", code, message } };
}

/** `POST /v1/responses`. */
export const responsesWords: ApiWords = {
  whole: (answer) => ({
    ...responseOf(answer),
    status: "completed",
    output: itemsOf(answer),
    usage: usageOf(answer),
  }),
  pieces: responsePieces,
  error: errorBody,
  streamError: (message) => ({
    event: "response.failed",
    data: {
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message } },
    },
  }),
};

interface OutputItem {
  readonly type: "message" | "reasoning" | "function_call" | "custom_tool_call";
  readonly id: string;
  readonly status?: string;
  readonly text: string;
  readonly fields: object;
}

function itemsOf(answer: Answer): object[] {
  return outputOf(answer).map(itemOf);
}

function itemOf({ type, id, status, fields }: OutputItem): object {
  return { type, id, ...(status === undefined ? {} : { status }), ...fields };
}

function outputOf({ thinking, text, calls }: Answer): OutputItem[] {
  return [
    ...(thinking === undefined
      ? []
      : [
          {
            type: "reasoning" as const,
            id: newId("rs_"),
            text: thinking,
            fields: {
              summary: [{ type: "summary_text", text: thinking }],
              encrypted_content: "c3RhbmQtaW4=",
            },
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            type: "message" as const,
            id: newId("msg_"),
            status: "completed",
            text,
            fields: { role: "assistant", content: [{ type: "output_text", text, annotations: [] }] },
          },
        ]),
    ...calls.map(callItem),
  ];
}

function callItem({ name, input }: Answer["calls"][number]): OutputItem {
  const common = { status: "completed", text: typeof input === "string" ? input : JSON.stringify(input) };
  const fields = { call_id: newId("call_"), name };
  return typeof input === "string"
    ? { ...common, type: "custom_tool_call", id: newId("ctc_"), fields: { ...fields, input } }
    : { ...common, type: "function_call", id: newId("fc_"), fields: { ...fields, arguments: common.text } };
}

function* responsePieces(answer: Answer): Generator<Piece> {
  let number = 0;
  const piece = (type: string, data: object): Piece => ({
    event: type,
    data: { type, sequence_number: number++, ...data },
  });
  const response = responseOf(answer);
  const items = outputOf(answer);
  yield piece("response.created", { response });
  for (const [output_index, item] of items.entries()) {
    const place = { item_id: item.id, output_index };
    const begun = { ...itemOf(item), ...(item.status ? { status: "in_progress" } : {}) };
    if (item.type === "message") {
      yield piece("response.output_item.added", { output_index, item: { ...begun, content: [] } });
      const part = { ...place, content_index: 0 };
      yield piece("response.content_part.added", {
        ...part,
        part: { type: "output_text", text: "", annotations: [] },
      });
      for (const delta of parts(item.text)) yield piece("response.output_text.delta", { ...part, delta });
      yield piece("response.output_text.done", { ...part, text: item.text });
    } else if (item.type === "function_call") {
      yield piece("response.output_item.added", { output_index, item: { ...begun, arguments: "" } });
      yield piece("response.function_call_arguments.delta", { ...place, delta: item.text });
      yield piece("response.function_call_arguments.done", { ...place, arguments: item.text });
    } else yield piece("response.output_item.added", { output_index, item: begun });
    yield piece("response.output_item.done", { output_index, item: itemOf(item) });
  }
  const output = items.map(itemOf);
  const usage = usageOf(answer);
  if (answer.stop === "end")
    yield piece("response.completed", { response: { ...response, status: "completed", output, usage } });
  else {
    const reason = answer.stop === "max_tokens" ? "max_output_tokens" : "content_filter";
    const incomplete_details = { reason };
    const cut = { ...response, status: "incomplete", incomplete_details, output, usage };
    yield piece("response.incomplete", { response: cut });
  }
}

function responseOf({ model }: Answer): object {
  const created_at = Math.floor(Date.now() / 1000);
  return { id: newId("resp_"), object: "response", created_at, model, status: "in_progress", output: [] };
}

function usageOf({ usage: { inputTokens, outputTokens } }: Answer): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

/** `POST /v1/chat/completions`. */
export const chatWords: ApiWords = {
  whole(answer) {
    const { text, calls } = answer;
    const message = { role: "assistant", content: text ?? null, ...toolCalls(calls) };
    const choices = [{ index: 0, message, finish_reason: finishOf(answer) }];
    return { ...completionOf(answer), object: "chat.completion", choices, usage: chatUsage(answer) };
  },
  *pieces(answer) {
    const base = { ...completionOf(answer), object: "chat.completion.chunk" };
    const delta = (content: object, finish_reason: string | null = null): Piece => ({
      data: { ...base, choices: [{ index: 0, delta: content, finish_reason }] },
    });
    yield delta({ role: "assistant", content: "" });
    for (const content of parts(answer.text ?? "")) yield delta({ content });
    for (const call of toolCalls(answer.calls).tool_calls ?? []) yield delta({ tool_calls: [call] });
    yield delta({}, finishOf(answer));
    yield { data: { ...base, choices: [], usage: chatUsage(answer) } };
    yield { data: "[DONE]" };
  },
  error: errorBody,
  streamError: (message) => ({ data: { error: { message, type: "server_error" } } }),
};

function toolCalls(calls: Answer["calls"]): { readonly tool_calls?: readonly object[] } {
  if (calls.length === 0) return {};
  const tool_calls = calls.map(({ name, input }, index) => ({
    index,
    id: newId("call_"),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { tool_calls };
}

function finishOf({ stop, calls }: Answer): string {
  if (stop === "end") return calls.length > 0 ? "tool_calls" : "stop";
  return stop === "max_tokens" ? "length" : "content_filter";
}

function completionOf({ model }: Answer): object {
  return { id: newId("chatcmpl-"), created: Math.floor(Date.now() / 1000), model };
}

function chatUsage({ usage: { inputTokens, outputTokens } }: Answer): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
