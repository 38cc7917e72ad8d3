import { type Answer, type ApiWords, newId, parts } from "./answers.ts";
import type { Spoken } from "./scenarios.ts";

interface Content {
  readonly role?: string;
  readonly parts?: readonly { readonly text?: string }[];
}

export function geminiConversation(contents: readonly Content[]): Spoken[] {
  return contents.map(({ role, parts: said = [] }) => {
    const text = said.flatMap((part) => part.text ?? []).join("\n");
    return { role: role === "model" ? "model" : text === "" ? "tool" : "user", text };
  });
}

/** `generateContent` and `streamGenerateContent`. */
export const geminiWords: ApiWords = {
  whole: (answer) => chunkOf(answer, partsOf(answer), { isLast: true }),
  *pieces(answer) {
    const said = partsOf(answer);
    for (const [index, part] of said.entries())
      yield { data: chunkOf(answer, [part], { isLast: index === said.length - 1 }) };
  },
  error: (status, message) => ({ error: { code: status, message, status: statusName(status) } }),
  streamError: (message) => ({ data: { error: { code: 503, message, status: "UNAVAILABLE" } } }),
};

function partsOf({ thinking, text, calls }: Answer): object[] {
  const said = [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...parts(text ?? "").map((part) => ({ text: part })),
    ...calls.map(({ name, input }) => ({
      functionCall: { id: newId(""), name, args: input },
      thoughtSignature: "c3RhbmQtaW4=",
    })),
  ];
  return said.length > 0 ? said : [{ text: "" }];
}

function chunkOf(answer: Answer, said: readonly object[], { isLast }: { readonly isLast: boolean }): object {
  const { inputTokens, outputTokens } = answer.usage;
  const finishReason = { end: "STOP", max_tokens: "MAX_TOKENS", refusal: "SAFETY" }[answer.stop];
  return {
    modelVersion: answer.model,
    responseId: newId(""),
    candidates: [{ index: 0, content: { role: "model", parts: said }, ...(isLast ? { finishReason } : {}) }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens,
      totalTokenCount: inputTokens + outputTokens,
    },
  };
}

function statusName(status: number): string {
  const names: Readonly<Record<number, string>> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
  };
  return names[status] ?? "INTERNAL";
}
