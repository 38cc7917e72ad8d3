import { describe, expect, test } from "vitest";
import { startModelApi } from "../stand-ins/model-api.ts";
import { chooseStep, type Scenarios, type Spoken } from "../stand-ins/scenarios.ts";
import { toolCallsOf } from "../stand-ins/tool-calls.ts";

const scenarios: Scenarios = {
  "US-001": [{ text: "one" }, { text: "two" }],
  "US-002": { rounds: [[{ text: "wrong" }], [{ text: "right" }]] },
  "US-003": [{ text: "again", repeat: true }],
};

const user = (text: string): Spoken => ({ role: "user", text });
const model: Spoken = { role: "model", text: "…" };
const tool: Spoken = { role: "tool", text: "US-003 check failed" };
const failure = "The check `npm test` failed with exit code 1.";

const conversations: [name: string, conversation: Spoken[], expected: string | undefined][] = [
  ["the first step for a prompt", [user("# US-001: Do it")], "one"],
  ["the next after what the model did", [user("US-001"), model, tool], "two"],
  ["one turn for several items", [user("US-001"), model, model, tool], "two"],
  ["an end after the last step", [user("US-001"), model, tool, model], "Nothing more to do."],
  ["the same for ever", [user("US-003"), model, tool, model, tool, model], "again"],
  ["the last story that was named", [user("US-001"), model, user("US-002")], "wrong"],
  ["the first story of a text", [user("Do US-002. Earlier: US-001, US-003")], "wrong"],
  ["whole names only", [user("US-0011 and XUS-002 and US-003")], "again"],
  ["the next round after a failed check", [user("US-002"), model, user(failure)], "right"],
  ["the last round for all further ones", [user("US-002"), user(failure), user(failure)], "right"],
  ["the next round when the story is told anew with its failure", [user(`US-002\n\n${failure}`)], "right"],
  ["the next round for our own words", [user("US-002"), user("US-002: a check failed (exit 1).")], "right"],
  ["no round for a failure before the story", [user(failure), model, user("US-002")], "wrong"],
  ["no round for what a tool says", [user("US-002"), tool], "wrong"],
  [
    "nothing for a reminder of the agent's own",
    [user("US-001 <system-reminder>\nUS-002 check failed\n</system-reminder>")],
    "one",
  ],
  ["a plain answer without a story", [user("Hello")], "OK"],
  ["a plain answer to nothing", [], "OK"],
];

describe("a scenario gives", () => {
  test.each(conversations)("%s", (_name, conversation, expected) => {
    expect(chooseStep(conversation, scenarios).step.text).toBe(expected);
  });
});

describe("a step is done with the agent's own tools", () => {
  test.each([
    [["Write", "Bash"], "Write", { file_path: "/w/a b.txt", content: "it's" }],
    [["write_file"], "write_file", { file_path: "/w/a b.txt", content: "it's" }],
    [["write"], "write", { filePath: "/w/a b.txt", content: "it's" }],
    [["exec_command"], "exec_command", { cmd: "mkdir -p '/w' && echo aXQncw== | base64 -d > '/w/a b.txt'" }],
  ])("writing with %j", (offered, name, input) => {
    expect(toolCallsOf({ write: { path: "a b.txt", content: "it's" } }, offered, "/w")).toEqual([
      { name, input },
    ]);
  });

  test.each([
    [["Bash"], "Bash", { command: "ls", description: "Run a command" }],
    [["run_shell_command"], "run_shell_command", { command: "ls", description: "Run a command" }],
    [["exec_command"], "exec_command", { cmd: "ls" }],
    [["exec", "wait"], "exec", 'text(await tools.exec_command({ cmd: "ls" }));'],
    [[], "shell", { command: ["bash", "-lc", "ls"] }],
  ])("running with %j", (offered, name, input) => {
    expect(toolCallsOf({ run: "ls" }, offered, "/w")).toEqual([{ name, input }]);
  });

  test("a message with quotes is committed as it is", () => {
    const [call] = toolCallsOf({ commit: "It's done" }, ["exec_command"], "/w");

    expect(call?.input).toEqual({ cmd: expect.stringContaining("commit -q -m 'It'\\''s done'") });
  });
});

interface Api {
  readonly name: string;
  readonly path: (stream: boolean) => string;
  readonly body: (text: string, stream: boolean) => object;
  /** Where the words and the calls are in an answer that is no stream. */
  readonly text: string;
  readonly end: string;
}

const prompt = (text: string) => [{ role: "user", content: text }];

const apis: Api[] = [
  {
    name: "Anthropic's",
    path: () => "/v1/messages?beta=true",
    body: (text, stream) => ({ model: "m", stream, messages: prompt(text), tools: [{ name: "Write" }] }),
    text: '"type":"text","text":"one"',
    end: "event: message_stop",
  },
  {
    name: "OpenAI's responses",
    path: () => "/v1/responses",
    body: (text, stream) => ({ model: "m", stream, input: prompt(text), tools: [{ name: "exec_command" }] }),
    text: '"type":"output_text","text":"one"',
    end: "event: response.completed",
  },
  {
    name: "OpenAI's chat",
    path: () => "/v1/chat/completions",
    body: (text, stream) => ({
      model: "m",
      stream,
      messages: prompt(text),
      tools: [{ type: "function", function: { name: "write" } }],
    }),
    text: '"content":"one"',
    end: "data: [DONE]",
  },
  {
    name: "Gemini's",
    path: (stream) => `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: (text) => ({
      contents: [{ role: "user", parts: [{ text }] }],
      tools: [{ functionDeclarations: [{ name: "write_file" }] }],
    }),
    text: '"text":"one"',
    end: '"finishReason":"STOP"',
  },
];

async function ask(
  port: number,
  { path, body }: Api,
  text: string,
  { stream, key = "k" }: { readonly stream: boolean; readonly key?: string },
): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path(stream)}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body(text, stream)),
  });
}

describe.each(apis)("the stand-in for $name API", (api) => {
  test("answers whole and as a stream, and remembers who asked", async () => {
    await using started = await startModelApi({ scenarios });

    const whole = await (await ask(started.port, api, "US-001", { stream: false })).text();
    const stream = await ask(started.port, api, "US-001", { stream: true });

    expect(whole).toContain(api.text);
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    expect(await stream.text()).toContain(api.end);
    expect(started.requests).toMatchObject([
      { storyId: "US-001", turn: 0, key: "k", outcome: "answered" },
      { storyId: "US-001", turn: 0, key: "k", outcome: "answered" },
    ]);
  });

  test("calls the agent's tool", async () => {
    const write = { path: "a.txt", content: "hello" };
    await using started = await startModelApi({ scenarios: { "US-001": [{ write }] } });

    const whole = await (await ask(started.port, api, "US-001", { stream: false })).text();
    const stream = await (await ask(started.port, api, "US-001", { stream: true })).text();

    expect(whole).toContain("/workspace/a.txt");
    expect(stream).toContain("a.txt");
  });

  test("fails as it is told, and as often", async () => {
    const fault = { status: 429, headers: { "retry-after": "7" }, times: 2 };
    await using started = await startModelApi({ scenarios: { "US-001": [{ fault, text: "one" }] } });
    const answers: Response[] = [];

    for (let tries = 0; tries < 3; tries += 1)
      answers.push(await ask(started.port, api, "US-001", { stream: true }));

    expect(answers.map(({ status }) => status)).toEqual([429, 429, 200]);
    expect(answers[0]?.headers.get("retry-after")).toBe("7");
  });

  test.each(["midway", "late"] as const)("breaks a stream off %s", async (cut) => {
    await using started = await startModelApi({ scenarios: { "US-001": [{ fault: { cut } }] } });

    const response = await ask(started.port, api, "US-001", { stream: true });

    await expect(response.text()).rejects.toThrow();
  });

  test("ends a stream with an error", async () => {
    await using started = await startModelApi({
      scenarios: { "US-001": [{ fault: { streamError: "Overloaded" } }] },
    });

    const text = await (await ask(started.port, api, "US-001", { stream: true })).text();

    expect(text).toContain("Overloaded");
    expect(text).not.toContain(api.end);
  });

  test("refuses another key", async () => {
    await using started = await startModelApi({ scenarios, key: "right" });

    expect((await ask(started.port, api, "US-001", { stream: true, key: "wrong" })).status).toBe(401);
    expect((await ask(started.port, api, "US-001", { stream: true, key: "right" })).status).toBe(200);
  });

  test("says much when it is told to", async () => {
    await using started = await startModelApi({ scenarios: { "US-001": [{ characters: 1_000_000 }] } });

    const text = await (await ask(started.port, api, "US-001", { stream: true })).text();

    expect(text.length).toBeGreaterThan(1_000_000);
  });
});

describe("the stand-in", () => {
  test("hangs until it is stopped", async () => {
    const hanging = startModelApi({ scenarios: { "US-001": [{ fault: { hang: true } }] } });
    const started = await hanging;
    const [api] = apis;
    if (!api) throw new Error("there is an API");

    const response = ask(started.port, api, "US-001", { stream: true }).catch((error: Error) => error.name);
    await expect.poll(() => started.requests.length).toBe(1);
    await started[Symbol.asyncDispose]();

    expect(await response).toBe("TypeError");
  });

  test("shows what it was asked", async () => {
    await using started = await startModelApi({ scenarios });
    const of = (path: string) => fetch(`http://127.0.0.1:${started.port}${path}`);

    expect((await of("/nothing")).status).toBe(404);
    expect(await (await of("/stand-in/requests")).json()).toMatchObject([
      { path: "/nothing", outcome: "aside" },
    ]);
  });
});
