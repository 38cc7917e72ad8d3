import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { acpAgent } from "../../adapter/agents/acp-agent.ts";
import type { Agent, TurnEnd } from "../../adapter/agents/agent.ts";
import { claudeAgent } from "../../adapter/agents/claude-agent.ts";
import type { ContainerSpec, Containers } from "../../src/engine/containers.ts";
import { baseImage } from "../../src/engine/rules/base-image.ts";
import { defaultLimits, defaultTmpBytes } from "../../src/sandbox/sandbox-defaults.ts";
import { openEngine } from "../fakes/engine/engine-at.ts";
import { testLabel } from "../fakes/test-label.ts";
import type { Fault, Scenarios } from "../stand-ins/scenarios.ts";
import { ensureAgentImage } from "./image.ts";
import { runIn, type StandIn, standInEnv, standInFiles, startStandIn } from "./stand-in.ts";
import { type RealTools, toolsIn } from "./tools-in.ts";

const endpoint = inject("endpoint");
const { containers }: { readonly containers: Containers } = await openEngine(endpoint).open();

const fault = (value: Fault) => [{ fault: value }];
const scenarios: Scenarios = {
  work: [
    { text: "I write a file.", write: { path: "src/hello.txt", content: "hello\n" } },
    { edit: { path: "src/hello.txt", from: "hello", to: "hello world" } },
    { run: "cat src/hello.txt" },
    { commit: "Say hello" },
    { text: "Done." },
  ],
  repair: {
    rounds: [
      [{ write: { path: "b.txt", content: "wrong\n" } }, { text: "All right." }],
      [{ write: { path: "b.txt", content: "right\n" } }, { text: "Now." }],
    ],
  },
  unknown: fault({ status: 401 }),
  forbidden: fault({ status: 403 }),
  limited: fault({ status: 429, headers: { "retry-after": "1" } }),
  recovering: [{ fault: { status: 429, headers: { "retry-after": "1" }, times: 1 }, text: "Here." }],
  broken: fault({ status: 500 }),
  overloaded: fault({ status: 529 }),
  lost: fault({ cut: "before" }),
  failing: [{ fault: { streamError: "Overloaded" } }, { text: "Again." }],
  poor: fault({ status: 400, message: "Your credit balance is too low to access the Anthropic API." }),
  missing: fault({ status: 404, message: "model: none" }),
  refusing: [{ text: "No.", stop: "refusal", repeat: true }],
  endless: [{ run: "date", repeat: true }],
  large: [{ text: "Much.", characters: 5_000_000 }],
  stuck: [{ run: "tail -f /dev/null" }],
};

/** A container without a network. */
const sealed: ContainerSpec = {
  name: `aimi-test-${randomBytes(6).toString("hex")}`,
  labels: { [testLabel]: "agents" },
  ...{ image: baseImage, command: ["sleep", "infinity"], env: {}, user: "0:0", workdir: "/" },
  ...{ runtime: "runc", network: { kind: "none" }, limits: defaultLimits, capabilities: [] },
  ...{ readOnlyRoot: false, privileged: false, tmpBytes: defaultTmpBytes, volumes: [] },
};

let id = "";
let standIn: StandIn | null = null;

beforeAll(async () => {
  await ensureAgentImage({ endpoint, stateFolder: inject("stateFolder") });
  ({ id } = await containers.create(sealed));
  await containers.copyIn(id, "/", standInFiles(scenarios));
  await containers.start(id);
  standIn = await startStandIn(containers, id);
});

afterAll(async () => {
  await standIn?.[Symbol.asyncDispose]();
  await containers.remove(sealed.name);
});

interface Asked {
  readonly end: TurnEnd;
  readonly tools: RealTools;
}

const kinds: Readonly<Record<string, { readonly agent: Agent; readonly command?: readonly string[] }>> = {
  claude: { agent: claudeAgent },
  gemini: { agent: acpAgent, command: ["gemini", "--acp"] },
};

/** One story from its beginning, in a work folder of its own; each failed check afterwards is a turn more. */
async function carryOut(
  kind: string,
  storyId: string,
  { checks = [], maxTurns, stopMs }: { checks?: string[]; maxTurns?: number; stopMs?: number } = {},
): Promise<Asked> {
  const { agent, command } = kinds[kind] ?? { agent: claudeAgent };
  await runIn(containers, id, {
    command: ["sh", "-c", "rm -rf /workspace/* /workspace/.git && git init --quiet"],
  });
  const tools = toolsIn(containers, id, { IS_SANDBOX: "1", ...standInEnv[kind] });
  const asked = { kind: agent.kind, ...(command ? { command } : {}), ...(maxTurns ? { maxTurns } : {}) };
  const model = kind === "gemini" ? { model: "gemini-2.5-flash" } : {};
  const story = `# Story ${storyId}\nDo it.`;
  const signal = stopMs === undefined ? new AbortController().signal : AbortSignal.timeout(stopMs);
  const turn = (prompt: string, continues: boolean) => ({
    ...{ storyId, prompt, continues, agent: { ...asked, ...model } },
    promptForNewConversation: continues ? `${story}\n\n${prompt}` : prompt,
  });

  let end = await agent.runTurn(turn(story, false), tools, signal);
  for (const check of checks) end = await agent.runTurn(turn(check, true), tools, signal);
  return { end, tools };
}

async function read(...command: string[]): Promise<string> {
  return (await runIn(containers, id, { command })).text;
}

/** The command lines of all that the agent's user still runs. */
async function processesOfAgent(): Promise<string[]> {
  const each =
    'for p in /proc/[0-9]*; do [ "$(stat -c %u $p)" = 1000 ] && tr "\\0" " " < $p/cmdline && echo; done; :';
  await using execution = await containers.exec(id, {
    command: ["sh", "-c", each],
    ...{ user: "0:0", input: false },
  });
  const chunks: Uint8Array[] = [];
  for await (const { stream, bytes } of execution.output) if (stream === "stdout") chunks.push(bytes);
  return Buffer.concat(chunks).toString().trim().split("\n").filter(Boolean);
}

describe.each(Object.keys(kinds))("a real %s", (kind) => {
  test("does a story", async () => {
    const { end, tools } = await carryOut(kind, "work");

    expect(end).toEqual({ kind: "ended" });
    expect(await read("git", "log", "--format=%an: %s", "--name-only")).toBe(
      "agent: Say hello\n\nsrc/hello.txt\n",
    );
    expect(await read("cat", "src/hello.txt")).toBe("hello world\n");
    expect(tools.activities.map(({ summary }) => summary)).toContain("I write a file.");
    const open = tools.activities.flatMap(({ tool }) => (tool?.state === "open" ? [tool.id] : []));
    const closed = tools.activities.flatMap(({ tool }) => (tool?.state === "ended" ? [tool.id] : []));
    expect(new Set(open)).toEqual(new Set(closed));
    expect(tools.usages.at(-1)?.inputTokens).toBeGreaterThan(1000);
  });

  test("repairs what a check found", async () => {
    const { end } = await carryOut(kind, "repair", {
      checks: ["The check `npm test` failed with exit code 1."],
    });

    expect(end).toEqual({ kind: "ended" });
    expect(await read("cat", "b.txt")).toBe("right\n");
  });

  test.each([
    ["unknown", "AGENT_AUTH_FAILED", "worker"],
    ["forbidden", "AGENT_AUTH_FAILED", "worker"],
  ])("that is not let in, %s, is nobody for any story", async (story, code, scope) => {
    expect((await carryOut(kind, story)).end).toMatchObject({ code, scope });
  });

  test("can be stopped while a tool of its own is stuck", async () => {
    const { end, tools } = await carryOut(kind, "stuck", { stopMs: 8_000 });

    expect(tools.activities).toContainEqual(
      expect.objectContaining({
        kind: "command",
        summary: expect.stringContaining("tail -f /dev/null"),
        tool: expect.objectContaining({ state: "open" }),
      }),
    );
    expect(end).toEqual({
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message: "the adapter stopped the agent",
    });
    expect(await processesOfAgent()).toEqual([]);
  });
});

describe("Claude Code's end is what it is", () => {
  test.each<[string, object]>([
    ["limited", { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    ["poor", { code: "AGENT_LIMIT_REACHED", scope: "worker" }],
    ["missing", { code: "AGENT_CRASH", scope: "worker" }],
    ["broken", { code: "AGENT_CRASH", scope: "story" }],
    ["overloaded", { code: "AGENT_CRASH", scope: "story" }],
    ["lost", { code: "AGENT_CRASH", scope: "story" }],
    ["refusing", { code: "AGENT_CRASH", scope: "story", message: "the model refused to continue" }],
    ["recovering", { kind: "ended" }],
    ["failing", { kind: "ended" }],
    ["large", { kind: "ended" }],
  ])("%s", async (story, expected) => {
    expect((await carryOut("claude", story)).end).toMatchObject(expected);
  });

  test("endless", async () => {
    const { end } = await carryOut("claude", "endless", { maxTurns: 3 });

    expect(end).toMatchObject({ code: "AGENT_LIMIT_REACHED", scope: "story" });
  });

  test("the cost of each turn is its own", async () => {
    const { tools } = await carryOut("claude", "repair", { checks: ["The check failed."] });

    const costs = tools.usages.flatMap(({ costUsd }) => costUsd ?? []);
    expect(costs).toHaveLength(2);
    expect((costs[1] ?? 0) / (costs[0] ?? 1)).toBeCloseTo(1, 0);
  });
});
