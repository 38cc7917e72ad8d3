import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createUsageReader, type ReportedUsage } from "../../../../gateway/usage/usage-reader.ts";
import {
  anthropicBody,
  anthropicCounts,
  anthropicParts,
  anthropicStart,
  anthropicStop,
  anthropicStream,
  anthropicSums,
  chatBody,
  chatCounts,
  chatParts,
  chatStream,
  chatUsage,
  eventsOf,
  geminiCounts,
  geminiEnd,
  geminiParts,
  geminiStream,
  responsesBody,
  responsesCounts,
  responsesCreated,
  responsesParts,
  responsesStream,
  talk,
} from "../../../fakes/gateway/recorded-streams.ts";
import type { Answer, ApiWords } from "../../../stand-ins/answers.ts";
import { anthropicWords } from "../../../stand-ins/anthropic-words.ts";
import { geminiWords } from "../../../stand-ins/gemini-words.ts";
import { chatWords, responsesWords } from "../../../stand-ins/openai-words.ts";

type Api = Parameters<typeof createUsageReader>[0];

const events = "text/event-stream; charset=utf-8";
const json = "application/json";

/** What is read of an answer that comes in pieces that end at these bytes, from memory that is used again. */
function read(
  api: Api,
  type: string,
  answer: string | Uint8Array,
  ...ends: readonly number[]
): ReportedUsage {
  const reader = createUsageReader(api, type);
  const bytes = Buffer.from(answer as string);
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    const piece = Buffer.from(bytes.subarray(from, end));
    reader.add(piece);
    piece.fill(0x22);
    from = Math.max(from, end);
  }
  return reader.end();
}

const wrapped = geminiStream.map((response) => ({ response, traceId: "t" }));

const answers: readonly [name: string, Api, type: string, text: string, model: string, counts: object][] = [
  ["Anthropic's stream", "anthropic", events, eventsOf(anthropicStream), "claude-opus-5-5", anthropicCounts],
  ["Anthropic's body", "anthropic", json, JSON.stringify(anthropicBody), "claude-opus-5-5", anthropicCounts],
  [
    "a stream of Responses",
    "openai",
    events,
    eventsOf(responsesStream),
    "gpt-6.1-sol-2026-09-29",
    responsesCounts,
  ],
  [
    "a body of Responses",
    "openai",
    json,
    JSON.stringify(responsesBody, null, 2),
    "gpt-6.1-sol-2026-09-29",
    responsesCounts,
  ],
  ["a stream of a chat", "openai", events, eventsOf(chatStream), "gpt-4.1", chatCounts],
  ["a body of a chat", "openai", json, JSON.stringify(chatBody), "gpt-4.1", chatCounts],
  ["Gemini's events", "google", events, eventsOf(geminiStream), "gemini-2.5-pro", geminiCounts],
  ["Gemini's array", "google", json, JSON.stringify(geminiStream, null, 1), "gemini-2.5-pro", geminiCounts],
  ["Gemini's body", "google", json, JSON.stringify(geminiEnd()), "gemini-2.5-pro", geminiCounts],
  [
    "Gemini's lines",
    "google",
    "application/x-ndjson",
    geminiStream.map((each) => JSON.stringify(each)).join("\n"),
    "gemini-2.5-pro",
    geminiCounts,
  ],
  ["Gemini's events for a login", "google", events, eventsOf(wrapped), "gemini-2.5-pro", geminiCounts],
];

describe.each(answers)("%s", (_name, api, type, text, model, counts) => {
  const whole = read(api, type, text);

  test("tells what it took", () => {
    expect(whole).toMatchObject({ model, counts, isComplete: true });
  });

  test("tells the same wherever it is cut, and byte by byte", () => {
    const length = Buffer.byteLength(text);
    const ends = Array.from({ length: length + 1 }, (_, end) => end);
    expect(ends.filter((end) => !isDeepStrictEqual(read(api, type, text, end), whole))).toEqual([]);
    expect(read(api, type, text, ...Array.from({ length }, (_, index) => index))).toEqual(whole);
  });

  test("tells the same with CRLF, with CR, with comments and a mark of the byte order, and without a type", () => {
    const isEvents = type === events;
    const spellings = isEvents
      ? [
          ...[text.replaceAll("\n", "\r\n"), text.replaceAll("\n", "\r")],
          ...[`: hello\n\n${text}`, `\ufeff${text}`, `retry: 3\nid: 1\n${text}: bye\n\n`, text.trimEnd()],
          text.replaceAll("data: ", "data:"),
        ]
      : [`\n ${text}\r\n`];
    for (const spelling of spellings) {
      expect(read(api, type, spelling)).toEqual(whole);
      expect(read(api, isEvents ? events : "", spelling, 1)).toEqual(whole);
    }
  });

  test("is not complete before its last word", () => {
    const bytes = Buffer.from(text);
    let complete = 0;
    for (let end = 0; end < bytes.length; end += 1) {
      const cut = read(api, type, bytes.subarray(0, end));
      if (cut.isComplete) complete += 1;
      // Once it is complete, it is with all that it took.
      if (cut.isComplete) expect(cut).toEqual(whole);
    }
    // The line ends after it, and with a chat what only says that it is over.
    expect(complete).toBeLessThan(20);
  });
});

describe("an event of several lines of data", () => {
  test("is one", () => {
    const text = eventsOf(anthropicStream).replaceAll(/^data: (.*)$/gm, (_line, data: string) =>
      JSON.stringify(JSON.parse(data), null, 1)
        .split("\n")
        .map((line) => `data: ${line}`)
        .join("\n"),
    );

    expect(text.split("\n").length).toBeGreaterThan(60);
    for (const lines of [text, text.replaceAll("\n", "\r\n"), text.replaceAll("\n", "\r")])
      expect(read("anthropic", events, lines)).toMatchObject({ counts: anthropicCounts, isComplete: true });
  });

  test("has a line break between them, which no number goes across", () => {
    const lines = ['{"type":"message_start","message":{"usage":{"input_tokens":1', '2,"output_tokens":1}}}'];
    const text = lines.map((line) => `data: ${line}\n`).join("");
    expect(read("anthropic", events, `${text}\n`).counts).toBeNull();
    expect(read("anthropic", events, `data: ${lines.join("")}\n\n`).counts?.inputTokens).toBe(12);
  });
});

describe("a mark of the byte order", () => {
  test("hides not even the first event", () => {
    expect(read("google", events, `\ufeff${eventsOf([geminiEnd()])}`, 2)).toMatchObject({ isComplete: true });
  });
});

describe("the stand-in's own words", () => {
  const answer: Answer = {
    ...{ model: "m-1", thinking: "hm", text: talk.repeat(5), stop: "end" },
    calls: [{ name: "Bash", input: { command: "true" } }],
    usage: { inputTokens: 1234, outputTokens: 567 },
  };

  test.each<[Api, ApiWords]>([
    ["anthropic", anthropicWords],
    ["openai", responsesWords],
    ["openai", chatWords],
    ["google", geminiWords],
  ])("are read: %s", (api, words) => {
    const pieces = Array.from(words.pieces(answer), ({ data }) => data);
    const expected = { model: "m-1", counts: { inputTokens: 1234, outputTokens: 567 }, isComplete: true };

    expect(read(api, events, eventsOf(pieces))).toMatchObject(expected);
    expect(read(api, json, JSON.stringify(words.whole(answer)))).toMatchObject(expected);
    const stopped = [...words.pieces({ ...answer, stop: "max_tokens" })].map(({ data }) => data);
    expect(read(api, events, eventsOf(stopped))).toMatchObject(expected);
  });

  test.each<[Api, ApiWords]>([
    ["anthropic", anthropicWords],
    ["openai", responsesWords],
    ["openai", chatWords],
    ["google", geminiWords],
  ])("that fail in their midst are not complete; those that fail at once took nothing: %s", (api, words) => {
    const pieces = Array.from(words.pieces(answer), ({ data }) => data);
    const failed = words.streamError("overloaded").data;
    const nothing = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

    expect(read(api, events, eventsOf([...pieces.slice(0, 3), failed]))).toMatchObject({ isComplete: false });
    expect(read(api, events, eventsOf([failed]))).toMatchObject({ counts: nothing, isComplete: true });
    expect(read(api, json, JSON.stringify(words.error(429, "too many")))).toMatchObject({
      counts: nothing,
      isComplete: true,
    });
  });
});

describe("Anthropic", () => {
  const withSums = (usage: object): string => eventsOf([anthropicStart, anthropicSums(usage), anthropicStop]);

  test("tells the input at the beginning, so that a call that is broken off is known by that much", () => {
    expect(read("anthropic", events, eventsOf([anthropicStart, ...anthropicParts]))).toMatchObject({
      counts: { inputTokens: 12, cacheReadTokens: 20_000, cacheWriteTokens: 3000, outputTokens: 3 },
      isComplete: false,
    });
  });

  test("tells sums, of which the largest counts and none is added", () => {
    const twice = eventsOf([
      anthropicStart,
      anthropicSums({ output_tokens: 100 }),
      anthropicSums(),
      anthropicSums(),
      anthropicStop,
    ]);
    expect(read("anthropic", events, twice)).toMatchObject({ counts: anthropicCounts, isComplete: true });
  });

  test("leaves the rounds that shorten a conversation out of its sums, and they count", () => {
    const rounds = [
      { type: "compaction", input_tokens: 180_000, output_tokens: 3500 },
      { type: "message", input_tokens: 23_000, output_tokens: 1000 },
    ];
    expect(read("anthropic", events, withSums({ iterations: rounds }))).toMatchObject({
      counts: { inputTokens: 203_000, outputTokens: 4500, cacheReadTokens: 20_000 },
      isComplete: true,
    });
  });

  test("is dearer where it is fast, and in one country", () => {
    const factor = (usage: object) => read("anthropic", events, withSums(usage)).counts?.priceFactor;
    expect(factor({ speed: "fast" })).toBe(2);
    expect(factor({ speed: "fast", inference_geo: "us" })).toBeCloseTo(2.2);
    expect(factor({ speed: "standard", inference_geo: "global" })).toBe(1);
  });

  test("is not complete with an error in its midst, whatever follows", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "…" } };
    const text = eventsOf([anthropicStart, anthropicSums(), error, anthropicStop]);
    expect(read("anthropic", events, text)).toMatchObject({ counts: anthropicCounts, isComplete: false });
  });

  test("is not complete without the sums at the end", () => {
    expect(read("anthropic", events, eventsOf([anthropicStart, anthropicStop])).isComplete).toBe(false);
    expect(
      read("anthropic", events, eventsOf([anthropicStart, anthropicSums(null), anthropicStop])).isComplete,
    ).toBe(false);
  });
});

describe("OpenAI", () => {
  test.each(["response.incomplete", "response.failed"])("ends with %s, too", (type) => {
    const text = eventsOf([responsesCreated, ...responsesParts, { type, response: responsesBody }]);
    expect(read("openai", events, text)).toMatchObject({ counts: responsesCounts, isComplete: true });
  });

  test("that failed after it had begun, and does not say what that took, is not complete", () => {
    const failed = { type: "response.failed", response: { ...responsesBody, output: [], usage: null } };
    expect(read("openai", events, eventsOf([responsesCreated, ...responsesParts, failed]))).toMatchObject({
      counts: null,
      isComplete: false,
    });
    expect(read("openai", events, eventsOf([responsesCreated, failed]))).toMatchObject({
      counts: { inputTokens: 0, outputTokens: 0 },
      isComplete: true,
    });
  });

  test("is not complete with an error in the midst of a chat, whatever follows", () => {
    const text = eventsOf([...chatStream.slice(0, -1), { error: { message: "…" } }, "[DONE]"]);
    expect(read("openai", events, text)).toMatchObject({ counts: chatCounts, isComplete: false });
  });

  test("that goes on in the background is not complete with its first answer", () => {
    const begun = { ...responsesBody, status: "queued", output: [], usage: null };
    expect(read("openai", json, JSON.stringify(begun))).toMatchObject({ counts: null, isComplete: false });
    const some = { ...responsesBody, status: "in_progress" };
    expect(read("openai", json, JSON.stringify(some)).isComplete).toBe(false);
  });

  test("says nothing of a chat that was not asked to", () => {
    expect(read("openai", events, eventsOf([...chatParts, "[DONE]"]))).toEqual({
      ...{ model: "gpt-4.1", counts: null, isComplete: false },
    });
  });

  test.each([
    ["default", 1],
    ["flex", 1],
    ["priority", 2],
    ["fast", 2],
    ["ultrafast", 6],
  ])("at the service %s is %d times as dear", (service_tier, factor) => {
    const text = JSON.stringify({ ...responsesBody, service_tier });
    expect(read("openai", json, text).counts?.priceFactor).toBe(factor);
  });

  test("counts what only the total knows", () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 };
    expect(read("openai", json, JSON.stringify({ ...chatBody, usage })).counts).toMatchObject({
      ...{ inputTokens: 10, outputTokens: 30 },
    });
  });
});

describe("Gemini", () => {
  test("that was not finished is not complete, whatever it told so far", () => {
    expect(read("google", events, eventsOf(geminiParts))).toMatchObject({
      counts: { inputTokens: 600, outputTokens: 5, cacheReadTokens: 400 },
      isComplete: false,
    });
  });

  test("counts its thoughts without a total, too", () => {
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 30 };
    expect(read("google", json, JSON.stringify({ ...geminiEnd(), usageMetadata })).counts).toMatchObject({
      ...{ inputTokens: 9, outputTokens: 32 },
    });
  });

  test("that refuses a prompt has read it", () => {
    const text = eventsOf([
      { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 9 } },
    ]);
    expect(read("google", events, text)).toMatchObject({ counts: { inputTokens: 9 }, isComplete: true });
  });

  test("is paid for its searches", () => {
    const grounded = geminiEnd({ groundingMetadata: { webSearchQueries: ["a", "b"] } });
    expect(read("google", json, JSON.stringify(grounded)).counts?.feeUsd).toBeCloseTo(0.07);
  });
});

describe("numbers that are none", () => {
  const usageOf = (input_tokens: unknown): string =>
    JSON.stringify({ ...anthropicBody, usage: { input_tokens, output_tokens: 5 } });

  test.each([-1, 1e300, true, "many", "-5", [], {}, "99999999999999999999"])(
    "%j is not taken for a small one: the answer is not complete",
    (value) => {
      expect(read("anthropic", json, usageOf(value))).toMatchObject({ counts: null, isComplete: false });
    },
  );

  test("as text or with a fraction count", () => {
    expect(read("anthropic", json, usageOf("12")).counts?.inputTokens).toBe(12);
    expect(read("anthropic", json, usageOf(11.2)).counts?.inputTokens).toBe(12);
    expect(read("anthropic", json, usageOf(null)).counts?.inputTokens).toBe(0);
  });

  test("after good ones make the whole unsure", () => {
    const bad = { type: "message_delta", usage: { output_tokens: -7 } };
    const text = eventsOf([anthropicStart, anthropicSums(), bad, anthropicStop]);
    expect(read("anthropic", events, text)).toMatchObject({ counts: anthropicCounts, isComplete: false });
  });

  test("of a prototype are not seen", () => {
    const text = `{"type":"message","usage":{"__proto__":{"input_tokens":7},"output_tokens":1},"__proto__":{"model":"x"}}`;
    expect(read("anthropic", json, text)).toMatchObject({
      ...{ model: null, counts: { inputTokens: 0, outputTokens: 1 } },
    });
    expect(({} as Record<string, unknown>)["input_tokens"]).toBeUndefined();
  });
});

describe("whatever comes", () => {
  const apis = ["anthropic", "openai", "google"] as const;
  const types = fc.constantFrom(events, json, "application/x-ndjson", "text/plain", "");

  test("as bytes, nothing is thrown, and what is read is well formed", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...apis),
        types,
        fc.uint8Array({ maxLength: 400 }),
        fc.nat(400),
        (api, type, bytes, end) => {
          expectWellFormed(read(api, type, bytes, end));
        },
      ),
    );
  });

  test("as JSON of every kind, cut anywhere, it is the same as in one piece", () => {
    const words = [
      "usage",
      "type",
      "message",
      "response",
      "usageMetadata",
      "choices",
      "candidates",
      "error",
      "__proto__",
    ];
    const keys = fc.constantFrom(
      ...words,
      "input_tokens",
      "output_tokens",
      "prompt_tokens",
      "iterations",
      "model",
      "output",
    );
    const leaves = fc.oneof(
      fc.constantFrom("message", "message_start", "message_stop", "response.completed", "error", "[DONE]"),
      ...[fc.double(), fc.maxSafeNat(), fc.string({ unit: "binary", maxLength: 8 }), fc.constant(null)],
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        leaves,
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(keys, tie("tree"), { maxKeys: 6 }),
      ),
    }));
    fc.assert(
      fc.property(
        fc.constantFrom(...apis),
        fc.array(tree, { maxLength: 4 }),
        fc.nat(300),
        (api, values, end) => {
          for (const [type, text] of [
            [json, values.map((value) => JSON.stringify(value)).join("\n")],
            [events, eventsOf(values.map((value) => JSON.stringify(value)))],
          ] as const) {
            const found = read(api, type, text);
            expectWellFormed(found);
            expect(read(api, type, text, end, end + 1)).toEqual(found);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(apis)("of any nesting and length takes little memory: %s", (api) => {
    const reader = createUsageReader(api, json);
    const others = createUsageReader(api, events);
    const piece = Buffer.from('{"usage":[{"a":'.repeat(10_000));
    others.add(Buffer.from("data: "));
    globalThis.gc?.();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 200; count += 1) {
      reader.add(piece);
      others.add(piece);
    }

    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(24 << 20);
    expect(reader.end()).toEqual({ model: null, counts: null, isComplete: false });
    expect(others.end()).toEqual({ model: null, counts: null, isComplete: false });
  });

  test("after a very long text, what it took is still found, in a body and in an event", () => {
    const long = "x".repeat(9 << 20);
    const body = JSON.stringify({ ...responsesBody, instructions: long });
    expect(read("openai", json, body)).toMatchObject({ counts: responsesCounts, isComplete: true });
    const completed = { type: "response.completed", response: { ...responsesBody, instructions: long } };
    expect(read("openai", events, eventsOf([completed]))).toMatchObject({
      ...{ counts: responsesCounts, isComplete: true },
    });
  });

  test("with usage that is too long to be read, it is not complete", () => {
    const usage = { ...chatUsage, more: "x".repeat(100_000) };
    expect(read("openai", json, JSON.stringify({ ...chatBody, usage }))).toMatchObject({
      ...{ counts: null, isComplete: false },
    });
  });

  test("with brackets that do not fit, it is not complete", () => {
    for (const text of [
      '{"type":"message","usage":{"input_tokens":1}]',
      '{"usage":{}}}',
      "]",
      `${JSON.stringify(chatBody)}{`,
      `[${JSON.stringify(chatBody)}}`,
    ])
      for (const api of apis) expect(read(api, json, text).isComplete).toBe(false);
  });
});

function expectWellFormed({ model, counts, isComplete }: ReportedUsage): void {
  expect(model === null || typeof model === "string").toBe(true);
  if (counts === null) expect(isComplete).toBe(false);
  else for (const amount of Object.values(counts)) expect(amount).toBeGreaterThanOrEqual(0);
  for (const amount of Object.values(counts ?? {})) expect(Number.isFinite(amount)).toBe(true);
}
