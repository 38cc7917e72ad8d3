/** Answers of models as their APIs give them, shortened. */

/** Server-sent events, with their names where the API gives names. */
export function eventsOf(pieces: readonly unknown[]): string {
  return pieces
    .map((piece) => {
      const type = (piece as { readonly type?: unknown } | null)?.type;
      const name = typeof type === "string" ? `event: ${type}\n` : "";
      return `${name}data: ${typeof piece === "string" ? piece : JSON.stringify(piece)}\n\n`;
    })
    .join("");
}

/** A text that talks of usage itself, with characters of several bytes. */
export const talk = 'says "usage":{"input_tokens":999999} }]} 🐳 data: {"type":"message_stop"}\n\ndata: x\\';

const message = {
  ...{ id: "msg_01", type: "message", role: "assistant", model: "claude-opus-5-5", content: [] },
  ...{ stop_reason: null, stop_sequence: null },
};
const read = { cache_creation_input_tokens: 3000, cache_read_input_tokens: 20_000 };
const written = { cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 } };
const service = { service_tier: "standard", inference_geo: "not_available" };
const lastUsage = {
  ...{ input_tokens: 15, ...read, output_tokens: 503, server_tool_use: { web_search_requests: 2 } },
};

export const anthropicStart: object = {
  type: "message_start",
  message: { ...message, usage: { input_tokens: 12, ...read, ...written, output_tokens: 3, ...service } },
};
export const anthropicParts: readonly object[] = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: talk } },
  { type: "content_block_stop", index: 0 },
];
/** The event with the last sums; some of them may be others, or all be missing. */
export function anthropicSums(usage: object | null = {}): object {
  const delta = { stop_reason: "end_turn", stop_sequence: null };
  return { type: "message_delta", delta, usage: usage === null ? null : { ...lastUsage, ...usage } };
}
export const anthropicStop: object = { type: "message_stop" };
export const anthropicStream: readonly object[] = [
  ...[anthropicStart, ...anthropicParts, anthropicSums(), anthropicStop],
];
export const anthropicBody: object = {
  ...{ ...message, content: [{ type: "text", text: talk }], stop_reason: "end_turn" },
  usage: { ...lastUsage, ...written, ...service },
};
export const anthropicCounts: object = {
  ...{ inputTokens: 15, outputTokens: 503, cacheReadTokens: 20_000, cacheWriteTokens: 3000 },
  ...{ longCacheWriteTokens: 2000, feeUsd: 0.02, priceFactor: 1 },
};

export const responsesBody: object = {
  ...{ id: "resp_1", object: "response", created_at: 1_763_000_000, status: "completed", error: null },
  ...{ incomplete_details: null, instructions: talk, model: "gpt-6.1-sol-2026-09-29" },
  output: [
    { id: "rs_1", type: "reasoning", summary: [] },
    { id: "ws_1", type: "web_search_call", status: "completed" },
    { id: "msg_1", type: "message", content: [{ type: "output_text", text: talk, annotations: [] }] },
  ],
  service_tier: "default",
  usage: {
    ...{ input_tokens: 9658, output_tokens: 142, total_tokens: 9800 },
    input_tokens_details: { cached_tokens: 2000, cache_write_tokens: 7000 },
    output_tokens_details: { reasoning_tokens: 100 },
  },
};
export const responsesCreated: object = {
  ...{ type: "response.created", sequence_number: 0 },
  response: { ...responsesBody, status: "in_progress", output: [], usage: null },
};
export const responsesParts: readonly object[] = [
  {
    ...{ type: "response.output_item.added", output_index: 0 },
    item: { id: "msg_1", type: "message", status: "in_progress", content: [] },
  },
  { type: "response.output_text.delta", sequence_number: 2, delta: talk },
];
export const responsesStream: readonly object[] = [
  ...[responsesCreated, ...responsesParts],
  { type: "response.completed", sequence_number: 3, response: responsesBody },
];
export const responsesCounts: object = {
  ...{ inputTokens: 658, outputTokens: 142, cacheReadTokens: 2000, cacheWriteTokens: 7000 },
  ...{ priceFactor: 1, feeUsd: 0.01 },
};

export const chatUsage: object = {
  ...{ prompt_tokens: 2006, completion_tokens: 300, total_tokens: 2306 },
  prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt-4.1" };
export const chatParts: readonly object[] = [
  {
    ...{ ...chunk, usage: null },
    choices: [{ index: 0, delta: { role: "assistant", content: talk }, finish_reason: null }],
  },
  { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null },
];
export const chatStream: readonly unknown[] = [
  ...[...chatParts, { ...chunk, choices: [], usage: chatUsage }, "[DONE]"],
];
export const chatBody: object = {
  ...{ ...chunk, object: "chat.completion", usage: chatUsage },
  choices: [{ index: 0, message: { role: "assistant", content: talk }, finish_reason: "stop" }],
};
export const chatCounts: object = {
  ...{ inputTokens: 86, outputTokens: 300, cacheReadTokens: 1920, cacheWriteTokens: 0 },
};

function geminiPiece(text: string, usageMetadata: object, more: object = {}): object {
  const candidate = { index: 0, content: { role: "model", parts: [{ text }] }, ...more };
  return { candidates: [candidate], usageMetadata, modelVersion: "gemini-2.5-pro", responseId: "r" };
}
const prompt = { promptTokenCount: 1000, cachedContentTokenCount: 400 };
export const geminiParts: readonly object[] = [
  geminiPiece(talk, { ...prompt, totalTokenCount: 1000 }),
  geminiPiece("more", { promptTokenCount: 1000, candidatesTokenCount: 5, totalTokenCount: 1005 }),
];
/** The last piece, or the only one. */
export function geminiEnd(more: object = {}): object {
  const sums = { candidatesTokenCount: 20, thoughtsTokenCount: 80, toolUsePromptTokenCount: 50 };
  const details = { promptTokensDetails: [{ modality: "TEXT", tokenCount: 1000 }] };
  const usage = { ...prompt, ...sums, totalTokenCount: 1150, ...details };
  return geminiPiece("end", usage, { finishReason: "STOP", ...more });
}
export const geminiStream: readonly object[] = [...geminiParts, geminiEnd()];
export const geminiCounts: object = {
  ...{ inputTokens: 650, outputTokens: 100, cacheReadTokens: 400, cacheWriteTokens: 0, feeUsd: 0 },
};
