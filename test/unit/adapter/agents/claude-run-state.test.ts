import { describe, expect, test } from "vitest";
import type { TurnFailure, TurnUsage } from "../../../../adapter/agents/agent.ts";
import { type ClaudeExit, classifyClaudeRun } from "../../../../adapter/agents/classify-claude-run.ts";
import {
  applyClaudeEvent,
  type ClaudeRunState,
  createClaudeRunState,
} from "../../../../adapter/agents/claude-run-state.ts";
import { type JsonObject, toJsonObject } from "../../../../adapter/agents/read-json-fields.ts";

// The shapes are those of Claude Code 2.1.326, less what nobody reads.
const init: JsonObject = { type: "system", subtype: "init", cwd: "/workspace", model: "claude-opus-5-5" };

function said(text: string, id = "msg_1"): JsonObject {
  return assistant({ type: "text", text }, id);
}

function called(name: string, input: JsonObject, id = "toolu_1"): JsonObject {
  return assistant({ type: "tool_use", id, name, input }, `msg_${id}`);
}

function assistant(block: JsonObject, id: string): JsonObject {
  const usage = {
    input_tokens: 100,
    output_tokens: 1,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 3,
  };
  return { type: "assistant", message: { id, model: "claude-opus-5-5", content: [block], usage } };
}

function answered(id = "toolu_1", isError = false): JsonObject {
  const content = [{ type: "tool_result", tool_use_id: id, content: "…", is_error: isError }];
  return { type: "user", message: { role: "user", content } };
}

function retried(status: number | null, attempt = 1): JsonObject {
  return {
    type: "system",
    subtype: "api_retry",
    attempt,
    max_retries: 8,
    retry_delay_ms: 1208,
    error_status: status,
    error: "server_error",
  };
}

function apiFailed(error: string, status: number | null, words: string): JsonObject[] {
  const message = { id: "x", model: "<synthetic>", content: [{ type: "text", text: words }], usage: {} };
  const shown = status === null ? { api_error: "connection_failed" } : { api_error_status: status };
  return [
    { type: "assistant", message, error, is_api_error_message: true, ...shown },
    result({ is_error: true, terminal_reason: "api_error", stop_reason: "stop_sequence", result: words }),
  ];
}

function result(fields: JsonObject = {}): JsonObject {
  return {
    type: "result",
    subtype: "success",
    is_error: false,
    terminal_reason: "completed",
    stop_reason: "end_turn",
    permission_denials: [],
    total_cost_usd: 0.5,
    model_usage_since_last_result: { "claude-opus-5-5": spent(1000, 0.25) },
    result: "Done.",
    ...fields,
  };
}

function spent(inputTokens: number, costUSD: number): JsonObject {
  return {
    inputTokens,
    outputTokens: 50,
    cacheReadInputTokens: 7,
    cacheCreationInputTokens: 5,
    costUSD,
  };
}

function fold(
  events: readonly JsonObject[],
  start = createClaudeRunState({ isResumed: false }),
): ClaudeRunState {
  return events.reduce((facts: ClaudeRunState, event) => applyClaudeEvent(facts, event).facts, start);
}

function told(events: readonly JsonObject[]): string[] {
  let facts = createClaudeRunState({ isResumed: false });
  return events.flatMap((event) => {
    const step = applyClaudeEvent(facts, event);
    facts = step.facts;
    return step.activities.map(
      ({ kind, summary, tool }) =>
        `${kind}${tool ? ` ${tool.state === "open" ? "+" : "-"}${tool.id}` : ""}: ${summary}`,
    );
  });
}

function usages(events: readonly JsonObject[], isResumed = false): TurnUsage[] {
  let facts = createClaudeRunState({ isResumed });
  return events.flatMap((event) => {
    const step = applyClaudeEvent(facts, event);
    facts = step.facts;
    return step.usage ? [step.usage] : [];
  });
}

const ended: ClaudeExit = { code: 0, stderrTail: "", manner: "by-itself" };
const failed: ClaudeExit = { ...ended, code: 1 };

type Expected = readonly [code: TurnFailure["code"], scope: TurnFailure["scope"], message: RegExp];

const maxTurns = result({
  subtype: "error_max_turns",
  is_error: true,
  terminal_reason: "max_turns",
  stop_reason: "tool_use",
  result: undefined,
  errors: ["Reached maximum number of turns (3)"],
});
const denied = result({ permission_denials: [{ tool_name: "Bash" }, { tool_name: "Bash" }] });
const refused = result({ is_error: true, terminal_reason: "api_error", stop_reason: "refusal" });

const lies: [name: string, events: readonly JsonObject[], exit: ClaudeExit, expected: Expected][] = [
  [
    "an error that is called success",
    [init, ...apiFailed("unknown", 400, "API Error: 400 bad thing")],
    failed,
    ["AGENT_CRASH", "story", /API failed \(400\)/],
  ],
  [
    "success with denied tools and code 0",
    [init, said("both"), denied],
    ended,
    ["AGENT_CRASH", "story", /not allowed to use Bash, and/],
  ],
  ["a spent number of turns", [init, maxTurns], failed, ["AGENT_LIMIT_REACHED", "story", /turns/]],
  [
    "a spent budget",
    [init, result({ subtype: "error_max_budget_usd", is_error: true, terminal_reason: "budget_exhausted" })],
    failed,
    ["AGENT_LIMIT_REACHED", "story", /budget/],
  ],
  [
    "a conversation that is too long",
    [init, result({ is_error: true, terminal_reason: "prompt_too_long", result: "Prompt is too long" })],
    failed,
    ["AGENT_LIMIT_REACHED", "story", /too long/],
  ],
  [
    "a key that is not known, stopped while it tried again",
    [init, retried(401), retried(401, 2)],
    { ...failed, manner: "stopped" },
    ["AGENT_AUTH_FAILED", "worker", /401/],
  ],
  [
    "a key that is not known, and SIGINT told as an error of its own",
    [
      init,
      retried(401),
      retried(401, 2),
      result({ subtype: "error_during_execution", is_error: true, terminal_reason: "aborted_streaming" }),
    ],
    { ...ended, manner: "stopped" },
    ["AGENT_AUTH_FAILED", "worker", /401/],
  ],
  [
    "a key that may not",
    [init, ...apiFailed("authentication_failed", 403, "Failed to authenticate. API Error: 403")],
    failed,
    ["AGENT_AUTH_FAILED", "worker", /403/],
  ],
  [
    "no key at all",
    [init, ...apiFailed("authentication_failed", null, "Not logged in · Please run /login")],
    failed,
    ["AGENT_AUTH_FAILED", "worker", /Not logged in/],
  ],
  [
    "an account without credit",
    [init, ...apiFailed("billing_error", 400, "Credit balance is too low")],
    failed,
    ["AGENT_LIMIT_REACHED", "worker", /credit/],
  ],
  [
    "a rate limit that lasted",
    [init, retried(429), ...apiFailed("rate_limit", 429, "API Error: Request rejected (429)")],
    failed,
    ["AGENT_LIMIT_REACHED", "worker", /429/],
  ],
  [
    "an API that is broken",
    [init, retried(500), ...apiFailed("server_error", 500, "API Error: 500")],
    failed,
    ["AGENT_CRASH", "story", /500/],
  ],
  [
    "an API that is overloaded",
    [init, retried(529), ...apiFailed("server_error", 529, "API Error: 529 Overloaded")],
    failed,
    ["AGENT_CRASH", "story", /529/],
  ],
  [
    "a network that is lost",
    [init, retried(null), ...apiFailed("server_error", null, "Connection refused (ECONNREFUSED)")],
    failed,
    ["AGENT_CRASH", "story", /ECONNREFUSED/],
  ],
  [
    "a model that is not there",
    [init, ...apiFailed("model_not_found", 404, "There's an issue with the selected model")],
    failed,
    ["AGENT_CRASH", "worker", /model was not found/],
  ],
  ["a refusal", [init, refused], failed, ["AGENT_CRASH", "story", /the model refused/]],
  [
    "a refusal that only an event tells",
    [
      init,
      { type: "system", subtype: "model_refusal_no_fallback" },
      result({ is_error: true, terminal_reason: "api_error", stop_reason: null }),
    ],
    failed,
    ["AGENT_CRASH", "story", /the model refused/],
  ],
  [
    "words of success without a result",
    [init, said("All done, everything works!")],
    { ...ended, stderrTail: "warning\nSegmentation fault\n" },
    ["AGENT_CRASH", "story", /code 0 and without a result: Segmentation fault/],
  ],
  ["SIGTERM", [init], { ...failed, code: 143 }, ["AGENT_CRASH", "story", /143 \(signal 15\)/]],
  ["SIGKILL", [init], { ...failed, code: 137 }, ["AGENT_CRASH", "story", /137 \(signal 9\)/]],
  [
    "work that goes on after a result and breaks",
    [init, result(), said("The tests in the background failed.", "msg_2")],
    failed,
    ["AGENT_CRASH", "story", /code 1 and without a result/],
  ],
  [
    "a result that does not say whether it is an error",
    [init, result({ is_error: undefined })],
    ended,
    ["AGENT_CRASH", "story", /gave up/],
  ],
  ["success with an exit code", [init, result()], { ...failed, code: 134 }, ["AGENT_CRASH", "story", /134/]],
  [
    "an interrupted run with code 0",
    [init, result({ subtype: "error_during_execution", is_error: true, terminal_reason: "aborted_tools" })],
    { ...ended, manner: "stopped" },
    ["AGENT_CRASH", "story", /stopped/],
  ],
  [
    "a program that is not there",
    [],
    { ...failed, code: 127, stderrTail: "claude: not found" },
    ["AGENT_NOT_FOUND", "worker", /not found/],
  ],
];

const truths: [name: string, events: readonly JsonObject[], exit: ClaudeExit][] = [
  ["success", [init, said("Done."), result()], ended],
  ["success after a rate limit", [init, retried(429), retried(429, 2), said("Recovered."), result()], ended],
  ["success after a key was let in late", [init, retried(401), said("Hi."), retried(401), result()], ended],
  [
    "success after a message was cut off",
    [
      init,
      said("partial"),
      { type: "user", isSynthetic: true, message: { content: [{ type: "text", text: "cut off" }] } },
      said("whole", "msg_2"),
      result(),
    ],
    ended,
  ],
  [
    "success with words of failure",
    [init, said("API Error: 401 authentication_failed"), result({ result: "I failed." })],
    ended,
  ],
  [
    "success with a server left in its background",
    [init, result()],
    { ...ended, code: 143, manner: "left-waiting" },
  ],
  [
    "success after an API error that it got over",
    [init, ...apiFailed("server_error", 529, "API Error: 529"), said("Again."), result()],
    ended,
  ],
  ["success with a tool that failed", [init, called("Bash", {}), answered("toolu_1", true), result()], ended],
];

describe("what a run of Claude Code came to", () => {
  test.each(lies)("%s is what it is", (_name, events, exit, [code, scope, message]) => {
    const end = classifyClaudeRun(fold(events), exit);

    expect(end).toEqual({ kind: "failed", code, scope, message: expect.stringMatching(message) });
  });

  test.each(truths)("%s is an end", (_name, events, exit) => {
    expect(classifyClaudeRun(fold(events), exit)).toEqual({ kind: "ended" });
  });

  test("control characters of an API's answer reach nobody", () => {
    const end = classifyClaudeRun(
      fold([init, ...apiFailed("unknown", 400, "bad\u001b[31m thing\nmore")]),
      failed,
    );

    expect(end).toMatchObject({ message: "the model's API failed (400): bad thing" });
  });
});

describe("what people are told", () => {
  const tools: [name: string, input: JsonObject, summary: string][] = [
    ["Write", { file_path: "/workspace/src/a.ts", content: "x" }, "tool +toolu_1: Write src/a.ts"],
    ["Edit", { file_path: "/etc/hosts" }, "tool +toolu_1: Edit /etc/hosts"],
    ["Bash", { command: "npm test\nnpm run lint", description: "Test" }, "command +toolu_1: Bash: npm test"],
    ["Grep", { pattern: "TODO", path: "/workspace/src" }, "tool +toolu_1: Grep src"],
    ["Glob", { pattern: "**/*.ts" }, "tool +toolu_1: Glob **/*.ts"],
    ["Task", { description: "Look around", prompt: "…" }, "tool +toolu_1: Task Look around"],
    ["TaskCreate", { subject: "Write tests" }, "plan +toolu_1: Plan: Write tests"],
    [
      "TodoWrite",
      {
        todos: [
          { content: "a", status: "completed" },
          { content: "b", status: "in_progress", activeForm: "doing b" },
        ],
      },
      "plan +toolu_1: Plan: 1 of 2 done, doing b",
    ],
    ["mcp__things__do", {}, "tool +toolu_1: mcp__things__do"],
  ];

  test.each(tools)("%s is told in one line", (name, input, summary) => {
    expect(told([init, called(name, input)])).toEqual([summary]);
  });

  test("a tool is open until its result", () => {
    expect(
      told([
        init,
        called("Bash", { command: "npm test" }, "a"),
        called("Read", { file_path: "/workspace/b" }, "b"),
        answered("b"),
        answered("a", true),
        answered("a"),
      ]),
    ).toEqual([
      "command +a: Bash: npm test",
      "tool +b: Read b",
      "tool -b: Read b: done",
      "command -a: Bash: npm test: failed",
    ]);
  });

  test("a tool that never ended has ended with the turn", () => {
    expect(told([init, called("Bash", { command: "sleep" }, "a"), result()]).at(-1)).toBe(
      "command -a: Bash: sleep",
    );
  });

  test("of what the model says, the first line that says anything", () => {
    expect(told([said("\n\n  I will look.\nThen write.\n")])).toEqual(["text: I will look."]);
    expect(told([said("   \n")])).toEqual([]);
  });

  test("a new try of the API", () => {
    expect(told([retried(529, 2), retried(null)])).toEqual([
      "retry: The model's API answered 529; trying again in 2 s (attempt 2 of 8)",
      "retry: The model's API did not answer; trying again in 2 s (attempt 1 of 8)",
    ]);
  });

  test.each([
    [{ type: "assistant" }],
    [{ type: "assistant", message: { content: "text", usage: "much" } }],
    [{ type: "user", message: { content: [{ type: "tool_result" }, null, 7] } }],
    [{ type: "system", subtype: "api_retry" }],
    [{ type: "system", subtype: "init", cwd: 7 }],
    [{ type: "result" }],
    [{ type: "stream_event", event: {} }],
    [{}],
  ])("an event of another shape breaks nothing: %j", (event) => {
    expect(() => fold([toJsonObject(event)])).not.toThrow();
  });
});

describe("what a turn has used", () => {
  test("each message counts once, however many events tell of it", () => {
    expect(usages([init, said("a"), called("Bash", {}, "2"), said("b"), said("c")])).toEqual([
      { inputTokens: 100, outputTokens: 1, cacheReadTokens: 20, cacheWriteTokens: 3 },
      { inputTokens: 200, outputTokens: 2, cacheReadTokens: 40, cacheWriteTokens: 6 },
    ]);
  });

  test("of a conversation that was gone on with, the cost is the turn's alone", () => {
    const cumulative = result({ total_cost_usd: 9.75 });

    expect(usages([init, said("a"), cumulative], true).at(-1)).toEqual({
      inputTokens: 1000,
      outputTokens: 50,
      cacheReadTokens: 7,
      cacheWriteTokens: 5,
      costUsd: 0.25,
    });
  });

  test("several models and several results of one turn are added up", () => {
    const both = result({
      model_usage_since_last_result: { opus: spent(1000, 0.25), haiku: spent(10, 0.125) },
    });

    expect(usages([init, both, said("more", "msg_2"), result()]).map(({ costUsd }) => costUsd)).toEqual([
      0.375, 0.375, 0.625,
    ]);
    expect(usages([init, both, result()]).at(-1)?.inputTokens).toBe(2010);
  });

  test.each([
    ["a conversation that began now", false, 0.5],
    ["one that was gone on with", true, undefined],
  ])("where only the sum is told, the cost of %s is said only when it is known", (_name, isResumed, cost) => {
    const old = result({ model_usage_since_last_result: undefined, usage: { input_tokens: 11 } });

    expect(usages([init, old], isResumed)).toEqual([
      {
        inputTokens: 11,
        outputTokens: 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        ...(cost === undefined ? {} : { costUsd: cost }),
      },
    ]);
  });
});

describe("what an agent may make any number of", () => {
  test("is remembered in part, and counted in full", () => {
    const many = Array.from({ length: 5_000 }, (_, at) => called("Bash", {}, `toolu_${at}`));

    const facts = fold([init, ...many]);
    const { usage } = applyClaudeEvent(facts, said("Done.", "msg_last"));

    expect([facts.openTools.size, facts.usage.countedMessageIds.size]).toEqual([1_000, 1_000]);
    expect(usage?.inputTokens).toBe(5_001 * 100);
  });

  test("has no name that is too long to be remembered", () => {
    expect(fold([init, called("Bash", {}, "x".repeat(10_000))]).openTools.size).toBe(0);
  });
});
