import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prepareModelCall } from "../../../../gateway/model/estimate-call-usage.ts";
import { zeroTokenCounts } from "../../../../src/usage/spending.ts";

type Prepare = Parameters<typeof prepareModelCall>;
type Api = Exclude<Prepare[0], null>;

const estimateModelCallUsage = (...call: Prepare) => {
  const { model, counts } = prepareModelCall(...call);
  return { model, counts };
};
const addIncludeUsage = (...call: Prepare) => {
  const { body, isChanged } = prepareModelCall(...call);
  return { body, isChanged };
};

const paths: Readonly<Record<string, readonly [Api, string]>> = {
  messages: ["anthropic", "/v1/messages"],
  responses: ["openai", "/v1/responses"],
  chat: ["openai", "/v1/chat/completions"],
  gemini: ["google", "/v1beta/models/gemini-2.5-pro:streamGenerateContent"],
};

function reserve(where: keyof typeof paths, body: unknown, encoding?: string) {
  const [api, path] = paths[where] ?? ["openai", "/"];
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return estimateModelCallUsage(api, path, Buffer.from(text), encoding);
}

const output = (where: string, body: unknown): number => reserve(where, body).counts.outputTokens;
const input = (where: string, body: unknown): number => reserve(where, body).counts.inputTokens;
const length = (body: unknown): number => Buffer.byteLength(JSON.stringify(body));

describe("the most that a call can take", () => {
  test("is its bytes and the longest answer that it allows", () => {
    const body = {
      model: "claude-opus-5-5",
      max_tokens: 32_000,
      messages: [{ role: "user", content: "🐳".repeat(50) }],
    };
    expect(reserve("messages", body)).toEqual({
      model: "claude-opus-5-5",
      counts: {
        ...zeroTokenCounts,
        inputTokens: length(body),
        outputTokens: 32_000,
      },
    });
  });

  test.each<[string, unknown, number]>([
    ["messages", { max_tokens: 10 }, 10],
    ["messages", {}, 128_000],
    ["responses", { max_output_tokens: 10 }, 10],
    ["responses", { max_output_tokens: null }, 128_000],
    // Others that take no notice of it would give as much as they can.
    ["responses", { max_tokens: 10 }, 128_000],
    ["chat", { max_tokens: 10 }, 10],
    ["chat", { max_completion_tokens: 20 }, 20],
    ["chat", { max_completion_tokens: 20, max_tokens: 10 }, 20],
    ["chat", { max_tokens: 10, n: 3 }, 30],
    ["chat", { n: 2 }, 256_000],
    ["gemini", { generationConfig: { maxOutputTokens: 10 } }, 10],
    ["gemini", { generation_config: { max_output_tokens: 10, candidate_count: 4 } }, 40],
    ["gemini", { generationConfig: { candidateCount: 2 } }, 131_072],
    ["gemini", { contents: [{ parts: [{ text: '"maxOutputTokens":1' }] }] }, 65_536],
    ["gemini", { request: { generationConfig: { maxOutputTokens: 10 } } }, 10],
  ])("%s %j: %d", (where, body, expected) => {
    expect(output(where, body)).toBe(expected);
  });

  test.each(["-1", "1e400", '"many"', "[]", "{}", "true", `"${"9".repeat(70_000)}"`])(
    "with a limit that is none is the longest answer, and never more than a model could give: %#",
    (value) => {
      const most = output("messages", `{"max_tokens":${value}}`);
      expect(most).toBeGreaterThanOrEqual(128_000);
      expect(most).toBeLessThanOrEqual(1_000_000);
    },
  );

  test("with a limit that stands twice is the larger: who knows which one counts", () => {
    expect(output("messages", '{"max_tokens":64000,"max_tokens":1}')).toBe(64_000);
    expect(output("messages", '{"max_tokens":1,"max\\u005ftokens":64000}')).toBe(64_000);
    expect(output("messages", '{"max_tokens":1,"metadata":{"max_tokens":5}}')).toBe(1);
  });

  test.each([
    "",
    "{",
    "[1,2]",
    '{"max_tokens":1}{"max_tokens":2}',
    '{"max_tokens":1}]',
    "max_tokens=1",
    '{"max_tokens":1',
  ])("of a body that is no object is the longest answer: %s", (body) => {
    expect(output("messages", body)).toBe(body === "" ? 0 : 128_000);
  });

  test("is of the model in Gemini's path, whatever the body says", () => {
    expect(reserve("gemini", { model: "cheap" }).model).toBe("gemini-2.5-pro");
    const [api] = paths["gemini"] ?? ["google"];
    const model = (path: string) => estimateModelCallUsage(api, path, Buffer.from("{}"), undefined).model;
    expect(model("/v1beta/models/gemini%2D3:generateContent?alt=sse")).toBe("gemini-3");
    expect(model("/v1beta/models/%zz:generateContent")).toBe("%zz");
  });

  test("is nothing where tokens are only counted, or nothing is sent", () => {
    const zero = zeroTokenCounts;
    const body = Buffer.from("{}");
    expect(estimateModelCallUsage("anthropic", "/v1/messages/count_tokens", body, undefined).counts).toEqual(
      zero,
    );
    expect(
      estimateModelCallUsage("anthropic", "/v1/messages/count_tokens?beta=true", body, undefined).counts,
    ).toEqual(zero);
    expect(
      estimateModelCallUsage("google", "/v1beta/models/gemini-3-pro:countTokens", body, undefined),
    ).toEqual({
      ...{ model: "gemini-3-pro", counts: zero },
    });
    expect(estimateModelCallUsage("openai", "/v1/responses/input_tokens", body, undefined).counts).toEqual(
      zero,
    );
    expect(estimateModelCallUsage("openai", "/v1/models", new Uint8Array(), undefined).counts).toEqual(zero);
  });

  test.each([
    "/v1/messages?x=/count_tokens",
    "/v1/messages#/count_tokens",
    "/v1/messages/..%2fcount_tokens",
    "/v1/messages;/count_tokens",
    "/v1/messages%3F/messages/count_tokens",
    "/v1/x/../messages/count_tokens",
  ])("is not nothing where it only looks like that: %s", (path) => {
    expect(estimateModelCallUsage("anthropic", path, Buffer.from("{}"), undefined).counts.outputTokens).toBe(
      128_000,
    );
  });

  test("of numbers for a text has no answer", () => {
    const body = Buffer.from("{}");
    expect(estimateModelCallUsage("openai", "/v1/embeddings", body, undefined).counts).toMatchObject({
      inputTokens: 2,
      outputTokens: 0,
    });
    expect(
      estimateModelCallUsage("google", "/v1/models/gemini-embedding-001:embedContent", body, undefined).counts
        .outputTokens,
    ).toBe(0);
  });
});

describe("a call about more than its own bytes", () => {
  const image = (source: object) => ({ messages: [{ role: "user", content: [{ type: "image", source }] }] });

  test.each<[string, unknown]>([
    ["messages", image({ type: "url", url: "https://example.com/a.png" })],
    ["messages", image({ type: "file", file_id: "f" })],
    ["messages", { mcp_servers: [{ url: "https://example.com" }] }],
    ["responses", { previous_response_id: "resp_1" }],
    ["responses", { conversation: "conv_1" }],
    ["responses", { prompt: { id: "p" } }],
    ["responses", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["responses", { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }],
    [
      "responses",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: "https://example.com/a" }] }] },
    ],
    [
      "chat",
      { messages: [{ content: [{ type: "image_url", image_url: { url: "https://example.com/a" } }] }] },
    ],
    ["gemini", { cachedContent: "cachedContents/1" }],
    ["gemini", { cached_content: "cachedContents/1" }],
    ["gemini", { contents: [{ parts: [{ fileData: { fileUri: "u" } }] }] }],
  ])("may read a whole context: %s %j", (where, body) => {
    expect(input(where, body)).toBe(length(body) + 1_048_576);
  });

  test.each<[string, unknown]>([
    ["messages", image({ type: "base64", media_type: "image/png", data: "x".repeat(90_000) })],
    [
      "responses",
      {
        previous_response_id: null,
        input: [
          { content: [{ type: "input_image", image_url: `data:image/png;base64,${"x".repeat(90_000)}` }] },
        ],
      },
    ],
    ["chat", { messages: [{ content: [{ image_url: { url: "data:image/png;base64,xx" } }] }] }],
    ["gemini", { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "x" } }] }] }],
  ])("with a picture reads more than its bytes: %s", (where, body) => {
    expect(input(where, body)).toBe(length(body) + 5_000);
  });

  test.each<[string, unknown]>([
    [
      "messages",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "document", source: { type: "base64", media_type: "application/pdf", data: "x" } },
            ],
          },
        ],
      },
    ],
    [
      "responses",
      { input: [{ role: "user", content: [{ type: "input_file", file_data: "data:application/pdf" }] }] },
    ],
    ["chat", { messages: [{ content: [{ type: "file", file: { file_data: "data:application/pdf" } }] }] }],
    ["chat", { messages: [{ content: [{ type: "input_audio", input_audio: { data: "x" } }] }] }],
    ["gemini", { contents: [{ parts: [{ inlineData: { mimeType: "video/mp4", data: "x" } }] }] }],
    ["gemini", { contents: [{ parts: [{ inline_data: { mime_type: "application/pdf", data: "x" } }] }] }],
  ])("with a document, a sound or a film may be a whole context: %s %j", (where, body) => {
    expect(input(where, body)).toBe(length(body) + 1_048_576);
  });

  test("that hides its model behind more than is looked at may be anything", () => {
    const padded = `{"url":${" ".repeat(65_525)}"a"}`;
    const content = Array.from({ length: 4 }, () => `{"image_url":${padded}}`).join();
    const body = `{"messages":[{"content":[${content}]}],"model":"small","stream":true,"max_tokens":1}`;

    const { model, counts } = reserve("chat", body);

    expect(model).toBeNull();
    expect(counts.inputTokens).toBe(2 * (Buffer.byteLength(body) + 1_048_576 + 128_000));
    expect(counts.outputTokens).toBe(2 * 128_000);
  });

  test.each<[string, unknown]>([
    [
      "messages",
      {
        tools: [
          { name: "Bash", input_schema: {} },
          { type: "bash_20250124", name: "b" },
        ],
      },
    ],
    [
      "gemini",
      { tools: [{ functionDeclarations: [] }], contents: [{ parts: [{ inlineData: { data: "x" } }] }] },
    ],
  ])("is not one that has all with it: %s", (where, body) => {
    expect(input(where, body)).toBe(length(body));
  });

  test.each<[string, unknown]>([
    ["messages", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    [
      "responses",
      {
        tools: [
          { type: "function", name: "f" },
          { type: "web_search", external_web_access: false },
        ],
      },
    ],
    ["gemini", { tools: [{ googleSearch: {} }] }],
    ["gemini", { tools: [{ google_search: {} }] }],
  ])("with tools that run there may read what they find: %s %j", (where, body) => {
    expect(input(where, body)).toBe(length(body) + 128_000);
  });

  test("that shortens its conversation first reads and writes it twice", () => {
    const body = { max_tokens: 100, context_management: { edits: [{ type: "compact_20260112" }] } };
    expect(reserve("messages", body).counts).toMatchObject({
      inputTokens: 2 * length(body),
      outputTokens: 200,
    });
  });

  test("that is to be fast is dearer", () => {
    expect(reserve("messages", { speed: "fast", model: "claude-opus-4-6" }).counts.priceFactor).toBe(6);
    expect(reserve("responses", { service_tier: "priority", model: "gpt-5.5" }).counts.priceFactor).toBe(2.5);
  });
});

describe("an encoded body", () => {
  const body = { model: "gpt-6.1-sol", max_output_tokens: 77, input: "x".repeat(5000) };
  const bytes = Buffer.from(JSON.stringify(body));
  const read = (encoded: Uint8Array, encoding: string) =>
    estimateModelCallUsage("openai", "/v1/responses", encoded, encoding);

  test.each<[string, Uint8Array]>([
    ["gzip", gzipSync(bytes)],
    ["x-gzip", gzipSync(bytes)],
    ["deflate", deflateSync(bytes)],
    ["deflate", deflateRawSync(bytes)],
    ["br", brotliCompressSync(bytes)],
    ["zstd", zstdCompressSync(bytes)],
    ["ZSTD", zstdCompressSync(bytes)],
    ["identity", bytes],
    ["", bytes],
    ["gzip, zstd", zstdCompressSync(gzipSync(bytes))],
  ])("is read: %s", (encoding, encoded) => {
    expect(read(encoded, encoding)).toMatchObject({
      ...{ model: "gpt-6.1-sol", counts: { inputTokens: bytes.length, outputTokens: 77 } },
    });
  });

  test.each<[string, string, Uint8Array]>([
    ["an encoding that nobody knows", "lzma", bytes],
    ["none where one is said", "zstd", bytes],
    ["one cut off", "gzip", gzipSync(bytes).subarray(0, 30)],
    ["one many times over", "gzip, gzip, gzip", gzipSync(gzipSync(gzipSync(bytes)))],
    // Node reads only the first of them; whoever reads both finds another limit.
    [
      "two frames",
      "zstd",
      Buffer.concat([zstdCompressSync(Buffer.from('{"max_output_tokens":1}')), zstdCompressSync(bytes)]),
    ],
    ["something after the end", "br", Buffer.concat([brotliCompressSync(bytes), bytes])],
  ])("that cannot be read is taken for a large one: %s", (_name, encoding, encoded) => {
    expect(read(encoded, encoding)).toMatchObject({
      ...{ model: null, counts: { inputTokens: encoded.length * 20, outputTokens: 128_000 } },
    });
  });

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ])("that grows without end takes little memory, and counts as the longest: %s", (encoding, encode) => {
    const bomb = encode(Buffer.alloc(65 << 20));
    const before = process.memoryUsage.rss();

    expect(read(bomb, encoding).counts.inputTokens).toBe(64 << 20);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 << 20);
  });

  test("with another such one after it, and another, is given up at once", () => {
    const bombs = Buffer.concat(Array<Buffer>(16).fill(gzipSync(Buffer.alloc(60 << 20))));
    const before = process.memoryUsage.rss();

    expect(read(bombs, "gzip").counts.inputTokens).toBe(64 << 20);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 << 20);
  });

  test.each(["[", '{"a":', '{"a":[],', "{}"])("of any nesting takes little time and memory: %s", (piece) => {
    const nested = Buffer.from(piece.repeat((8 << 20) / piece.length));
    const before = process.memoryUsage().heapUsed;

    expect(read(nested, "").counts).toMatchObject({ inputTokens: nested.length, outputTokens: 128_000 });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(256 << 20);
  });

  test("and whatever else never throws, and has never less than its bytes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(paths)),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        fc.constantFrom("", "gzip", "br", "zstd", "deflate", "x", "gzip,br"),
        ([api, path], some, encoding) => {
          const { counts } = estimateModelCallUsage(api, path, some, encoding);
          const isPacked = encoding !== "";
          if (some.length > 0 && !isPacked) expect(counts.inputTokens).toBeGreaterThanOrEqual(some.length);
          for (const amount of Object.values(counts))
            expect(Number.isSafeInteger(Math.ceil(amount))).toBe(true);
          addIncludeUsage(api, path, some, encoding);
        },
      ),
    );
  });
});

describe("a stream that tells its usage only when asked", () => {
  const asked = (text: string, encoding?: string, encode: (bytes: Buffer) => Uint8Array = (bytes) => bytes) =>
    addIncludeUsage("openai", "/v1/chat/completions", encode(Buffer.from(text)), encoding);
  const changed = (text: string): unknown => {
    const { body, isChanged } = asked(text);
    expect(isChanged).toBe(true);
    return JSON.parse(Buffer.from(body).toString());
  };

  test("is asked", () => {
    const body = {
      model: "m",
      stream: true,
      messages: [{ content: '"stream_options":{"include_usage":true} 🐳' }],
    };
    expect(changed(JSON.stringify(body))).toEqual({ ...body, stream_options: { include_usage: true } });
    expect(changed(` \n${JSON.stringify(body, null, 2)}`)).toMatchObject({
      stream_options: { include_usage: true },
    });
  });

  test.each(["null", "{}", '{"include_usage":false}', '{"include_usage":"true"}', "[]", "7"])(
    "is asked where its options are %s",
    (options) => {
      expect(changed(`{"stream":true,"stream_options":${options},"n":1}`)).toEqual({
        ...{ stream: true, stream_options: { include_usage: true }, n: 1 },
      });
      expect(changed(`{"stream_options": ${options} , "stream":true}`)).toEqual({
        ...{ stream: true, stream_options: { include_usage: true } },
      });
    },
  );

  test("keeps everything else byte for byte", () => {
    const text =
      '{"seed":12345678901234567890, "stream":true,"stream_options":{"include_obfuscation":false},"x":1,"x":2}';
    const wanted = text.replace(
      '{"include_obfuscation":false}',
      '{"include_usage":true,"include_obfuscation":false}',
    );
    expect(Buffer.from(asked(text).body).toString()).toBe(wanted);
  });

  test("is asked at each place where its options stand", () => {
    const text = '{"stream":true,"stream_options":{"include_usage":true},"stream\\u005foptions":{}}';
    expect(Buffer.from(asked(text).body).toString()).toBe(
      '{"stream":true,"stream_options":{"include_usage":true},"stream\\u005foptions":{"include_usage":true}}',
    );
  });

  test.each<[string, (bytes: Buffer) => Uint8Array]>([
    ["zstd", zstdCompressSync],
    ["gzip", gzipSync],
  ])("is unpacked for it: %s", (encoding, encode) => {
    const { body, isChanged } = asked('{"stream":true}', encoding, encode);
    expect(isChanged).toBe(true);
    expect(Buffer.from(body).toString()).toBe('{"stream_options":{"include_usage":true},"stream":true}');
  });

  test.each([
    '{"stream":true,"stream_options":{"include_usage":true}}',
    '{"stream":false}',
    '{"stream":"true"}',
    '{"messages":[{"stream":true}]}',
    '{"stream":true',
    '{"stream":true}{"stream":true}',
    "",
  ])("is left as it is: %s", (text) => {
    const body = Buffer.from(text);
    expect(addIncludeUsage("openai", "/v1/chat/completions", body, undefined)).toEqual({
      body,
      isChanged: false,
    });
  });

  test("is OpenAI's chat alone", () => {
    const body = Buffer.from('{"stream":true}');
    for (const [api, path] of [paths["messages"], paths["responses"], paths["gemini"]].flatMap((each) =>
      each ? [each] : [],
    ))
      expect(addIncludeUsage(api, path, body, undefined)).toEqual({ body, isChanged: false });
  });
});
