import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { acpAgent } from "../../../../adapter/agents/acp-agent.ts";
import type { AgentTurn, TurnEnd } from "../../../../adapter/agents/agent.ts";
import { type AcpAgentSide, type AcpAnswers, speakAcp } from "../../../fakes/adapter/acp-program.ts";
import { type FakeAgentTools, fakeAgentTools } from "../../../fakes/adapter/agent-tools.ts";

const agent = { kind: "acp", command: ["an-agent", "--acp"] };
const story: AgentTurn = { storyId: "US-001", prompt: "Do it.", continues: false, agent };
const repair: AgentTurn = {
  ...story,
  prompt: "Repair it.",
  promptForNewConversation: "Do it; repair.",
  continues: true,
};

interface Stage {
  readonly tools: FakeAgentTools;
  readonly sides: AcpAgentSide[];
  carryOut(turn: AgentTurn, signal?: AbortSignal): Promise<TurnEnd>;
  /** What the client sent, by method. */
  sent(method: string): unknown[];
  told(): string[];
}

function stage(answers: AcpAnswers = {}, conversation?: string): Stage {
  const sides: AcpAgentSide[] = [];
  const tools = fakeAgentTools({
    ...(conversation === undefined ? {} : { conversation }),
    run: (program) => void sides.push(speakAcp(program, answers)),
  });
  return {
    tools,
    sides,
    carryOut: (turn, signal) => acpAgent.runTurn(turn, tools, signal ?? new AbortController().signal),
    sent: (method) =>
      sides.flatMap(({ received }) =>
        received.filter((message) => message.method === method).map(({ params }) => params),
      ),
    told: () =>
      tools.activities.map(
        ({ kind, summary, tool }) =>
          `${kind}${tool ? ` ${tool.state === "open" ? "+" : "-"}${tool.id}` : ""}: ${summary}`,
      ),
  };
}

/** An agent that does all this in its one turn. */
function during(act: (side: AcpAgentSide) => void, result: object = { stopReason: "end_turn" }): AcpAnswers {
  return {
    "session/prompt": (_params, side) => {
      act(side);
      return { ...result };
    },
  };
}

const once = { optionId: "proceed_once", kind: "allow_once", name: "Allow" };
const always = { optionId: "proceed_always", kind: "allow_always", name: "Always" };
const no = { optionId: "allow", kind: "reject_once", name: "No" };

describe("a turn over the Agent Client Protocol", () => {
  test("greets, opens a conversation, keeps its name and prompts", async () => {
    const { tools, sent, carryOut } = stage();

    expect(await carryOut(story)).toEqual({ kind: "ended" });

    expect(tools.programs[0]?.command).toEqual(["an-agent", "--acp"]);
    expect(sent("initialize")).toMatchObject([
      {
        protocolVersion: 1,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
    ]);
    expect(sent("session/new")).toEqual([{ cwd: "/workspace", mcpServers: [] }]);
    expect(sent("session/prompt")).toEqual([
      { sessionId: "made", prompt: [{ type: "text", text: "Do it." }] },
    ]);
    expect(tools.kept()).toBe("made");
  });

  test("goes on with a conversation, whose past is not told again", async () => {
    const past: AcpAnswers = {
      "session/load": (_params, side) => {
        side.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Old.\n" } });
        side.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Old tool" });
        return {};
      },
    };
    const { sent, told, carryOut } = stage(past, "earlier");

    expect(await carryOut(repair)).toEqual({ kind: "ended" });

    expect(sent("session/load")).toEqual([{ sessionId: "earlier", cwd: "/workspace", mcpServers: [] }]);
    expect(sent("session/prompt")).toEqual([
      { sessionId: "earlier", prompt: [{ type: "text", text: "Repair it." }] },
    ]);
    expect(told()).toEqual([]);
  });

  test.each<[string, AcpAnswers]>([
    ["cannot load one", { initialize: { protocolVersion: 1, agentCapabilities: {} } }],
    ["does not know it", { "session/load": () => ({ error: { code: -32002, message: "not found" } }) }],
  ])("begins a conversation where the agent %s", async (_name, answers) => {
    const { tools, sent, carryOut } = stage(answers, "earlier");

    expect(await carryOut(repair)).toEqual({ kind: "ended" });

    expect(sent("session/prompt")).toEqual([
      { sessionId: "made", prompt: [{ type: "text", text: "Do it; repair." }] },
    ]);
    expect(tools.kept()).toBe("made");
  });

  test.each([
    ["end_turn", { kind: "ended" }],
    ["max_tokens", { code: "AGENT_LIMIT_REACHED", scope: "story" }],
    ["max_turn_requests", { code: "AGENT_LIMIT_REACHED", scope: "story" }],
    ["refusal", { code: "AGENT_CRASH", scope: "story", message: "the model refused to continue" }],
    ["cancelled", { code: "AGENT_CRASH", scope: "story" }],
    [
      "something new",
      {
        code: "AGENT_CRASH",
        scope: "story",
        message: "the agent stopped with an unknown stop reason: something new",
      },
    ],
    [undefined, { code: "AGENT_CRASH", scope: "story" }],
  ])("the stop reason %s is no success unless it is an end", async (stopReason, expected) => {
    const { carryOut } = stage({ "session/prompt": { stopReason } });

    expect(await carryOut(story)).toMatchObject(expected);
  });

  test.each([
    [-32000, undefined, { code: "AGENT_AUTH_FAILED", scope: "worker" }],
    [401, undefined, { code: "AGENT_AUTH_FAILED", scope: "worker" }],
    [403, undefined, { code: "AGENT_AUTH_FAILED", scope: "worker" }],
    [-32603, { errorKind: "authentication_failed" }, { code: "AGENT_AUTH_FAILED", scope: "worker" }],
    [429, undefined, { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    [-32603, { errorKind: "rate_limit" }, { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    [-32603, { errorKind: "billing_error" }, { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    [-32603, { errorKind: "model_not_found" }, { code: "AGENT_CRASH", scope: "worker" }],
    [-32603, { errorKind: "server_error" }, { code: "AGENT_CRASH", scope: "story" }],
    [
      -32603,
      undefined,
      {
        code: "AGENT_CRASH",
        scope: "story",
        message: "the agent answered a request with an error: broken (-32603)",
      },
    ],
  ])("an error %s with %j is told by its code", async (code, data, expected) => {
    const failing = { error: { code, message: "\u001b[31mbroken", data } };
    const { carryOut } = stage({ "session/prompt": () => failing });

    expect(await carryOut(story)).toMatchObject(expected);
  });

  test.each(["initialize", "session/new"])(
    "an agent that wants a login at %s is not let in",
    async (method) => {
      const { carryOut } = stage({
        [method]: () => ({ error: { code: -32000, message: "Authentication required" } }),
      });

      expect(await carryOut(story)).toMatchObject({ code: "AGENT_AUTH_FAILED", scope: "worker" });
    },
  );

  test.each([
    [1, "Error: boom", { code: "AGENT_CRASH", scope: "story", message: /code 1 .*: Error: boom$/ }],
    [137, "", { code: "AGENT_CRASH", scope: "story", message: /code 137 \(signal 9\)/ }],
    [127, "an-agent: not found", { code: "AGENT_NOT_FOUND", scope: "worker", message: /not found/ }],
  ])(
    "an agent that ends with %s in its turn has crashed",
    async (code, stderrTail, { message, ...expected }) => {
      const { carryOut } = stage({
        "session/prompt": (_params, { program }) => {
          program.end(code, `warning\n${stderrTail}\n`);
          return null;
        },
      });

      expect(await carryOut(story)).toEqual({
        kind: "failed",
        ...expected,
        message: expect.stringMatching(message),
      });
    },
  );

  test("an agent of another version of the protocol is no agent for any story", async () => {
    const { carryOut } = stage({ initialize: { protocolVersion: 2 } });

    expect(await carryOut(story)).toMatchObject({ code: "AGENT_CRASH", scope: "worker" });
  });

  test.each<[number | null, object]>([
    [429, { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    [401, { code: "AGENT_AUTH_FAILED", scope: "worker" }],
    [null, { code: "AGENT_CRASH", scope: "story" }],
  ])("a turn of Codex that broke with %s is no end, whatever it calls itself", async (status, expected) => {
    const aside = (codex: object) => ({ sessionUpdate: "session_info_update", _meta: { codex } });
    const codexErrorInfo = { responseStreamDisconnected: { httpStatusCode: status } };
    const { told, carryOut } = stage(
      during((side) => {
        side.update(aside({ error: { message: "Reconnecting... 5/5", codexErrorInfo } }));
        side.update(aside({ threadStatus: { type: "systemError" } }));
      }),
    );

    expect(await carryOut(story)).toMatchObject(expected);
    expect(told()).toEqual(["retry: Reconnecting... 5/5"]);
  });

  test("a turn of Codex that got over an error is an end", async () => {
    const aside = (codex: object) => ({ sessionUpdate: "session_info_update", _meta: { codex } });
    const { carryOut } = stage(
      during((side) => {
        side.update(aside({ threadStatus: { type: "systemError" } }));
        side.update(aside({ threadStatus: { type: "active" } }));
      }),
    );

    expect(await carryOut(story)).toEqual({ kind: "ended" });
  });

  test.each([
    ["bypassPermissions", [{ sessionId: "made", modeId: "bypassPermissions" }]],
    ["yolo", [{ sessionId: "made", modeId: "yolo" }]],
    ["agent-full-access", [{ sessionId: "made", modeId: "agent-full-access" }]],
    ["plan", []],
  ])("the mode %s is chosen when it asks nobody", async (id, expected) => {
    const modes = { availableModes: [{ id: "default" }, { id }], currentModeId: "default" };
    const { sent, carryOut } = stage({ "session/new": { sessionId: "made", modes } });

    expect(await carryOut(story)).toEqual({ kind: "ended" });

    expect(sent("session/set_mode")).toEqual(expected);
  });

  test.each<[string, object, string, object]>([
    [
      "an option",
      { configOptions: [{ id: "mode" }, { id: "m", category: "model" }] },
      "session/set_config_option",
      { sessionId: "made", configId: "m", value: "small" },
    ],
    [
      "a list of models",
      { models: { currentModelId: "large" } },
      "session/set_model",
      { sessionId: "made", modelId: "small" },
    ],
  ])("the model is chosen by %s", async (_name, offered, method, params) => {
    const { sent, carryOut } = stage({ "session/new": { sessionId: "made", ...offered }, [method]: {} });

    expect(await carryOut({ ...story, agent: { ...agent, model: "small" } })).toEqual({ kind: "ended" });

    expect(sent(method)).toEqual([params]);
  });

  test.each<[string, AcpAnswers]>([
    ["nothing is offered", {}],
    ["it is refused", { "session/new": { sessionId: "made", models: {} } }],
  ])("no other model than the one that was asked for does the work: %s", async (_name, answers) => {
    const { sent, carryOut } = stage(answers);

    const end = await carryOut({ ...story, agent: { ...agent, model: "small" } });

    expect(end).toMatchObject({ code: "AGENT_CRASH", scope: "worker" });
    expect(sent("session/prompt")).toEqual([]);
  });

  test("without a program there is no agent", async () => {
    const { carryOut } = stage();

    expect(await carryOut({ ...story, agent: { kind: "acp" } })).toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  test("what is no message is passed over", async () => {
    const { carryOut } = stage(during(({ program }) => program.print("npm warn", "[]", '{"id":77}', "{")));

    expect(await carryOut(story)).toEqual({ kind: "ended" });
  });
});

describe("an agent that does not keep to the protocol", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const ofPermission = (id: unknown): object => ({
    ...{ jsonrpc: "2.0", id, method: "session/request_permission" },
    params: { options: [once] },
  });

  test.each([
    ["a list", [1]],
    ["an object", { a: 1 }],
    ["nested deep", JSON.parse("[".repeat(50_000) + "]".repeat(50_000))],
    ["a long text", "x".repeat(501)],
    ["a truth value", true],
  ])("asks under an id that is %s: it is ended, and the id is not echoed", async (_name, id) => {
    const { tools, sides, carryOut } = stage({
      "session/prompt": (_params, { program }) => {
        program.print(deepLine(ofPermission("ID"), id));
        return null;
      },
    });

    expect(await carryOut(story)).toEqual({
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message: expect.stringMatching(
        /^the agent violated the Agent Client Protocol: the id of the agent's JSON-RPC request is/,
      ),
    });
    expect(tools.programs[0]?.signals).toEqual(["kill"]);
    expect(sides[0]?.received.filter(({ result }) => result !== undefined)).toEqual([]);
  });

  test.each([["text"], [0], [1.5], [null]])("control: the id %j is one", async (id) => {
    const { sides, carryOut } = stage(during(({ program }) => program.print(ofPermission(id))));

    expect(await carryOut(story)).toEqual({ kind: "ended" });
    expect(sides[0]?.received.at(-1)).toMatchObject({ id, result: {} });
  });

  test.each([
    ["many", 5_000, "session/request_permission"],
    ["long ones", 2_000, "x".repeat(20_000)],
  ])("asks %s and does not read the answers: it is ended, and few wait", async (_name, count, method) => {
    vi.useFakeTimers();
    const { tools, carryOut } = stage({
      "session/prompt": (_params, { program }) => {
        program.stopReading();
        for (let id = 0; id < count; id += 1)
          program.print({ jsonrpc: "2.0", id, method, params: { options: [once] } });
        return null;
      },
    });

    const ended = carryOut(story);
    await vi.advanceTimersByTimeAsync(10_000);

    expect(await ended).toEqual({
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message:
        "the agent violated the Agent Client Protocol: the agent sends requests but does not read the answers",
    });
    expect(tools.programs[0]?.signals).toEqual(["kill"]);
    expect(tools.programs[0]?.input().length).toBeLessThan(2 << 20);
  });

  test("control: as many questions are answered to one that reads", async () => {
    const { sides, carryOut } = stage(
      during((side) => {
        for (let id = 0; id < 5_000; id += 1) side.ask(id, "session/request_permission", { options: [once] });
      }),
    );

    expect(await carryOut(story)).toEqual({ kind: "ended" });
    expect(sides[0]?.received.filter(({ result }) => result !== undefined)).toHaveLength(5_000);
  });

  /** `JSON.stringify` refuses what is nested deep; an agent need not use it. */
  function deepLine(message: object, id: unknown): string {
    const isDeep = Array.isArray(id) && Array.isArray(id[0]);
    const text = isDeep ? "[".repeat(50_000) + "]".repeat(50_000) : JSON.stringify(id);
    return JSON.stringify(message).replace('"ID"', text);
  }
});

describe("permission", () => {
  test.each([
    [[no, always, once], "proceed_once"],
    [[no, always], "proceed_always"],
  ])("is given by the kind of an option, never by its name", async (options, optionId) => {
    const { sides, carryOut } = stage(
      during((side) => side.ask(0, "session/request_permission", { toolCall: { toolCallId: "t" }, options })),
    );

    expect(await carryOut(story)).toEqual({ kind: "ended" });

    expect(sides[0]?.received).toContainEqual({
      jsonrpc: "2.0",
      id: 0,
      result: { outcome: { outcome: "selected", optionId } },
    });
  });

  test("that has no yes fails the turn, whatever the agent says at its end", async () => {
    const { sides, carryOut } = stage(
      during((side) => side.ask("p", "session/request_permission", { options: [no] })),
    );

    expect(await carryOut(story)).toMatchObject({ code: "AGENT_CRASH", scope: "story" });
    expect(sides[0]?.received).toContainEqual({
      jsonrpc: "2.0",
      id: "p",
      result: { outcome: { outcome: "cancelled" } },
    });
  });

  test("to use our files is not there to be asked for", async () => {
    const { sides, carryOut } = stage(during((side) => side.ask(0, "fs/read_text_file", { path: "/a" })));

    expect(await carryOut(story)).toEqual({ kind: "ended" });
    expect(sides[0]?.received).toContainEqual(
      expect.objectContaining({ id: 0, error: expect.objectContaining({ code: -32601 }) }),
    );
  });
});

describe("what people are told of a turn over the protocol", () => {
  test("tools, from their first word to their end", async () => {
    const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "npm test", kind: "execute" };
    const update = { sessionUpdate: "tool_call_update", toolCallId: "t" };
    const { told, carryOut } = stage(
      during((side) => {
        side.update({ ...call, status: "pending" });
        side.update({ ...update, status: "in_progress" });
        side.update({ ...update, status: "failed" });
        side.update({ ...update, title: "npm test (again)" });
        side.update({ ...call, toolCallId: "u", title: "Write a.ts", kind: "edit" });
      }),
    );

    await carryOut(story);

    expect(told()).toEqual([
      "command +t: npm test",
      "command -t: npm test: failed",
      "tool +u: Write a.ts",
      "tool -u: Write a.ts",
    ]);
  });

  test("a tool that is first heard of in a question, or in its end", async () => {
    const toolCall = { toolCallId: "a", title: "Run ls", kind: "execute" };
    const { told, carryOut } = stage(
      during((side) => {
        side.ask(0, "session/request_permission", { toolCall, options: [once] });
        side.update({ sessionUpdate: "tool_call_update", toolCallId: "a", status: "completed" });
        side.update({ sessionUpdate: "tool_call_update", toolCallId: "b", status: "completed" });
      }),
    );

    await carryOut(story);

    expect(told()).toEqual(["command +a: Run ls", "command -a: Run ls: done", "tool -b: a tool: done"]);
  });

  test("messages by their first line, once it is whole, and plans", async () => {
    const chunk = (text: string) => ({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text },
    });
    const entries = [
      { content: "look", status: "completed" },
      { content: "write", status: "in_progress" },
    ];
    const { told, carryOut } = stage(
      during((side) => {
        for (const text of ["\nI will ", "look.\nAnd", " then\n"]) side.update(chunk(text));
        side.update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } });
        side.update({ sessionUpdate: "plan", entries });
        side.update(chunk("Done"));
        side.update(chunk("."));
      }),
    );

    await carryOut(story);

    expect(told()).toEqual(["text: I will look.", "plan: Plan: 1 of 2 done, write", "text: Done."]);
  });

  test("two messages that follow each other", async () => {
    const chunk = (messageId: string, text: string) => ({
      sessionUpdate: "agent_message_chunk",
      messageId,
      content: { type: "text", text },
    });
    const { told, carryOut } = stage(
      during((side) => {
        for (const [id, text] of [
          ["a", "I "],
          ["a", "look."],
          ["b", "Done."],
        ] as const)
          side.update(chunk(id, text));
      }),
    );

    await carryOut(story);

    expect(told()).toEqual(["text: I look.", "text: Done."]);
  });

  test("tokens of the turn, and its part of a cost that is told as a sum", async () => {
    let amount = 0.25;
    const usage = { inputTokens: 10, outputTokens: 5, thoughtTokens: 2, cachedReadTokens: 3 };
    const answers = during(
      (side) => {
        side.update({ sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount, currency: "USD" } });
        amount += 0.5;
      },
      { stopReason: "end_turn", usage },
    );
    const { tools, carryOut } = stage(answers);

    await carryOut(story);
    await carryOut({ ...repair });

    expect(tools.usages).toEqual([
      { inputTokens: 10, outputTokens: 7, cacheReadTokens: 3, cacheWriteTokens: 0, costUsd: 0.25 },
      { inputTokens: 10, outputTokens: 7, cacheReadTokens: 3, cacheWriteTokens: 0, costUsd: 0.5 },
    ]);
  });

  test("tokens where Gemini tells them", async () => {
    const token_count = { input_tokens: 10, output_tokens: 5 };
    const { tools, carryOut } = stage({
      "session/prompt": { stopReason: "end_turn", _meta: { quota: { token_count } } },
    });

    await carryOut(story);

    expect(tools.usages).toEqual([
      { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 },
    ]);
  });

  test("nothing where the agent says nothing", async () => {
    const { tools, carryOut } = stage();

    await carryOut(story);

    expect(tools.usages).toEqual([]);
  });

  test("no cost where the sum before is not known", async () => {
    const cost = { amount: 3, currency: "USD" };
    const { tools, carryOut } = stage(
      during((side) => side.update({ sessionUpdate: "usage_update", cost }), {
        stopReason: "end_turn",
        usage: { inputTokens: 1 },
      }),
      "of another supervisor",
    );

    await carryOut(repair);

    expect(tools.usages.map(({ costUsd }) => costUsd)).toEqual([undefined]);
  });
});

describe("the end of a turn over the protocol", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test("is asked for before the program is killed", async () => {
    const controller = new AbortController();
    const { tools, sent, carryOut } = stage({ "session/prompt": () => null });

    const end = carryOut(story, controller.signal);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    await vi.advanceTimersByTimeAsync(4_900);
    expect(sent("session/cancel")).toEqual([{ sessionId: "made" }]);
    expect(tools.programs[0]?.signals).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);

    expect(await end).toMatchObject({ code: "AGENT_CRASH", message: "the adapter stopped the agent" });
    expect(tools.programs[0]?.signals).toEqual(["kill"]);
  });

  test("comes at once when the agent obeys", async () => {
    const controller = new AbortController();
    const { tools, sides, carryOut } = stage({ "session/prompt": () => null });

    const end = carryOut(story, controller.signal);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    sides[0]?.answerLater({ stopReason: "cancelled" });

    expect(await end).toMatchObject({ message: "the adapter stopped the agent" });
    expect(tools.programs[0]?.signals).toEqual([]);
  });

  test("comes for an agent that does not even greet", async () => {
    const controller = new AbortController();
    const { carryOut } = stage({ initialize: () => null });

    const end = carryOut(story, controller.signal);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    await vi.advanceTimersByTimeAsync(5_000);

    expect(await end).toMatchObject({ message: "the adapter stopped the agent" });
  });

  test("is not waited for longer than ten seconds, and what was done counts", async () => {
    const tools = fakeAgentTools({
      run: (program) => {
        speakAcp({ ...program, inputEnded: new Promise(() => {}) });
      },
    });

    const end = acpAgent.runTurn(story, tools, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(10_100);

    expect(await end).toEqual({ kind: "ended" });
    expect(tools.programs[0]?.signals).toEqual(["kill"]);
  });
});
