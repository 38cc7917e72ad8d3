import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AgentTurn, TurnEnd } from "../../../../adapter/agents/agent.ts";
import { claudeAgent } from "../../../../adapter/agents/claude-agent.ts";
import { type FakeAgentTools, type FakeProgram, fakeAgentTools } from "../../../fakes/adapter/agent-tools.ts";

const init = { type: "system", subtype: "init", cwd: "/workspace" };
const done = { type: "result", is_error: false, terminal_reason: "completed", permission_denials: [] };
const unknownKey = { type: "system", subtype: "api_retry", error_status: 401 };
const earlier = "11111111-1111-4111-8111-111111111111";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const story: AgentTurn = { storyId: "US-001", prompt: "Do it.", continues: false, agent: { kind: "claude" } };
const repair: AgentTurn = {
  ...story,
  prompt: "Repair it.",
  promptForNewConversation: "Do it; repair.",
  continues: true,
};

function succeed(program: FakeProgram): void {
  program.print(init, done);
  program.end(0);
}

function carryOut(tools: FakeAgentTools, turn: AgentTurn, signal?: AbortSignal): Promise<TurnEnd> {
  return claudeAgent.runTurn(turn, tools, signal ?? new AbortController().signal);
}

describe("a turn of Claude Code", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test("begins a conversation whose name is kept before the program starts", async () => {
    const names: (string | null)[] = [];
    const tools: FakeAgentTools = fakeAgentTools({
      run: (program) => {
        names.push(tools.kept());
        succeed(program);
      },
    });

    expect(await carryOut(tools, story)).toEqual({ kind: "ended" });

    const [name] = names;
    expect(name).toMatch(uuid);
    expect(tools.programs[0]?.command).toEqual([
      ...["claude", "-p", "--output-format", "stream-json", "--verbose"],
      ...["--permission-mode", "bypassPermissions", "--session-id", name],
    ]);
    expect(tools.programs[0]?.input()).toBe("");
  });

  test("gives the prompt on its input, and the model and the turns on its command line", async () => {
    const tools = fakeAgentTools({
      run: async (program) => {
        await program.inputEnded;
        succeed(program);
      },
    });

    await carryOut(tools, { ...story, agent: { kind: "claude", model: "haiku", maxTurns: 7 } });

    expect(tools.programs[0]?.input()).toBe("Do it.");
    expect(tools.programs[0]?.command.join(" ")).toContain(" --model haiku --max-turns 7 ");
  });

  test("keeps it from calling elsewhere, and lets the user say how often to try again", async () => {
    const env = { CLAUDE_CODE_MAX_RETRIES: "2" };
    const tools = fakeAgentTools({ run: succeed });
    const patient = fakeAgentTools({ env, run: succeed });

    await carryOut(tools, story);
    await carryOut(patient, story);

    expect(tools.programs[0]?.env).toMatchObject({
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      IS_SANDBOX: "1",
      CLAUDE_CODE_MAX_RETRIES: "8",
    });
    expect(patient.programs[0]?.env["CLAUDE_CODE_MAX_RETRIES"]).toBe("2");
  });

  test.each([
    ["goes on where the conversation is on the disk", 0, "--resume", "Repair it."],
    ["begins it under its name where it is not", 2, "--session-id", "Do it; repair."],
  ])("%s", async (_name, code, flag, prompt) => {
    const tools = fakeAgentTools({
      conversation: earlier,
      ask: (command) => ({ code: command.includes(earlier) ? code : 9, output: "" }),
      run: async (program) => {
        await program.inputEnded;
        succeed(program);
      },
    });

    expect(await carryOut(tools, repair)).toEqual({ kind: "ended" });

    expect(tools.programs[0]?.command.slice(-2)).toEqual([flag, earlier]);
    expect(tools.programs[0]?.input()).toBe(prompt);
  });

  test("begins anew, once, when its conversation is refused", async () => {
    const tools = fakeAgentTools({
      conversation: earlier,
      ask: () => ({ code: 0, output: "" }),
      run: async (program, index) => {
        await program.inputEnded;
        if (index > 0) return succeed(program);
        program.print({ type: "result", subtype: "error_during_execution", is_error: true });
        program.end(1, `No conversation found with session ID: ${earlier}`);
      },
    });

    expect(await carryOut(tools, repair)).toEqual({ kind: "ended" });

    expect(tools.programs).toHaveLength(2);
    expect(tools.programs[1]?.command.slice(-2)).toEqual(["--session-id", tools.kept()]);
    expect(tools.kept()).not.toBe(earlier);
    expect(tools.programs[1]?.input()).toBe("Do it; repair.");
  });

  test("a story that begins anew leaves the old conversation alone", async () => {
    const tools = fakeAgentTools({ conversation: earlier, run: succeed });

    await carryOut(tools, story);

    expect(tools.kept()).not.toBe(earlier);
  });

  test("does not wait minutes for a key that is not known", async () => {
    const tools = fakeAgentTools({ run: (program) => program.print(init, unknownKey, unknownKey) });

    const end = carryOut(tools, story);
    await vi.advanceTimersByTimeAsync(5_000);

    expect(await end).toMatchObject({ code: "AGENT_AUTH_FAILED", scope: "worker" });
    expect(tools.programs[0]?.signals).toEqual(["interrupt", "kill"]);
  });

  test("does not wait for ever for a server in its background, and what it did counts", async () => {
    const tools = fakeAgentTools({ run: (program) => program.print(init, done) });

    const end = carryOut(tools, story);
    await vi.advanceTimersByTimeAsync(119_000);
    expect(tools.programs[0]?.signals).toEqual([]);
    await vi.advanceTimersByTimeAsync(6_000);

    expect(await end).toEqual({ kind: "ended" });
    expect(tools.programs[0]?.signals).toEqual(["interrupt", "kill"]);
  });

  test("waits on while work goes on after a result", async () => {
    const more = { type: "assistant", message: { id: "m", model: "m", content: [] } };
    const tools = fakeAgentTools({ run: (program) => program.print(init, done) });

    const end = carryOut(tools, story);
    await vi.advanceTimersByTimeAsync(100_000);
    tools.programs[0]?.print(more);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tools.programs[0]?.signals).toEqual([]);
    tools.programs[0]?.print(done);
    tools.programs[0]?.end(0);

    expect(await end).toEqual({ kind: "ended" });
  });

  test("is asked to stop before it is killed", async () => {
    const controller = new AbortController();
    const tools = fakeAgentTools({ run: (program) => program.print(init) });

    const end = carryOut(tools, story, controller.signal);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    await vi.advanceTimersByTimeAsync(4_900);
    expect(tools.programs[0]?.signals).toEqual(["interrupt"]);
    await vi.advanceTimersByTimeAsync(200);

    expect(await end).toMatchObject({ code: "AGENT_CRASH", message: "the adapter stopped the agent" });
    expect(tools.programs[0]?.signals).toEqual(["interrupt", "kill"]);
  });

  test("is not begun once it was stopped", async () => {
    const tools = fakeAgentTools({ run: succeed });

    expect(await carryOut(tools, story, AbortSignal.abort())).toMatchObject({
      message: "the adapter stopped the agent",
    });
    expect(tools.programs).toEqual([]);
  });

  test("lines that are no events are passed over", async () => {
    const tools = fakeAgentTools({
      run: (program) => {
        program.print("warning: something", "[1,2]", '{"type":"resu', init, done, "null");
        program.end(0);
      },
    });

    expect(await carryOut(tools, story)).toEqual({ kind: "ended" });
  });
});
