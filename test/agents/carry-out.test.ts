import { beforeAll, describe, expect, inject, test } from "vitest";
import type { AcpMessage, StoryProgress, TaskRequestPayload } from "../../src/contract/acp.ts";
import type { UserStory } from "../../src/contract/tasks.ts";
import { openEngine } from "../fakes/engine/engine-at.ts";
import { git } from "../fakes/git/repository.ts";
import { fetchBundle, scripted, startWorker, story, type Worker } from "../fakes/swarm/worker.ts";
import type { Scenarios } from "../stand-ins/scenarios.ts";
import { ensureAgentImage } from "./image.ts";
import { standInEnv, standInFiles, startStandIn } from "./stand-in.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();

beforeAll(async () => {
  await ensureAgentImage({ endpoint: inject("endpoint"), stateFolder: inject("stateFolder") });
});

type RequestedAgent = NonNullable<TaskRequestPayload["agent"]>;

const claude: RequestedAgent = { kind: "claude", env: standInEnv["claude"] ?? {} };
const gemini: RequestedAgent = {
  ...{ kind: "acp", command: ["gemini", "--acp"], model: "gemini-2.5-flash" },
  env: standInEnv["gemini"] ?? {},
};

interface Carried {
  readonly messages: readonly AcpMessage[];
  readonly end: AcpMessage;
  readonly code: number;
  readonly log: string;
  readonly files: readonly string[];
}

/** A whole task in a sandbox of its own, whose agent can reach nothing but the stand-in of its model. */
async function carryOut(
  scenarios: Scenarios,
  stories: readonly UserStory[],
  {
    agent,
    runtime = "runc",
    before,
  }: { agent: RequestedAgent; runtime?: string; before?: (worker: Worker) => Promise<unknown> },
): Promise<Carried> {
  await using worker = await startWorker(engine, {
    ...{ runtime, files: standInFiles(scenarios), limits: { memoryBytes: 2 * 1024 ** 3 } },
  });
  await using _standIn = await startStandIn(worker.containers, worker.id);
  await using line = await worker.attach();
  await before?.(worker);
  await line.send("task-request", scripted(worker, {}, { stories, agent }));
  const end = await line.until(({ type }) => type === "completion" || type === "error");
  const bundle =
    end.type === "completion" && end.payload.bundle ? await worker.read(end.payload.bundle) : null;
  if (bundle) fetchBundle(worker.repository, bundle, "refs/heads/feat/work");
  const log = bundle
    ? git(worker.repository, "log", "--reverse", "--format=%an: %s", `${worker.base}..refs/fetched`)
    : "";
  const files = bundle
    ? git(worker.repository, "ls-tree", "-r", "--name-only", "refs/fetched").trim().split("\n")
    : [];
  await line.send("ack", { seq: "seq" in end ? end.seq : 0 });
  return { messages: line.messages, end, code: await worker.ended(), log: log.trim(), files };
}

const progressOf = (messages: readonly AcpMessage[]): StoryProgress[] =>
  messages.flatMap((message) => (message.type === "progress-update" ? [message.payload] : []));

const threeStories: readonly UserStory[] = [
  story("US-001", { title: "Say hello", verify: ["grep -qx hello hello.txt"] }),
  story("US-002", {
    title: "Say it to the world",
    dependsOn: ["US-001"],
    verify: ["grep -q world hello.txt"],
  }),
  story("US-003", { title: "Tell what it does", priority: 2 }),
];

const work: Scenarios = {
  "US-001": [
    { text: "I write it.", write: { path: "hello.txt", content: "hello\n" } },
    { commit: "Say hello" },
    { text: "Done." },
  ],
  "US-002": {
    rounds: [
      [{ run: "echo moon >> hello.txt" }, { text: "All right." }],
      [{ edit: { path: "hello.txt", from: "moon", to: "world" } }, { text: "Now." }],
    ],
  },
  "US-003": [{ write: { path: "ABOUT.md", content: "It says hello.\n" } }, { text: "Written." }],
};

describe.each<[string, RequestedAgent, string]>([
  ["Claude Code", claude, "runc"],
  ["Claude Code", claude, "runsc"],
  ["Gemini through the Agent Client Protocol", gemini, "runc"],
])("%s", (_name, agent, runtime) => {
  test.skipIf(!runtimes.includes(runtime))(
    `carries out three stories, one of them repaired, under ${runtime}`,
    async () => {
      const { messages, end, code, log, files } = await carryOut(work, threeStories, { agent, runtime });

      expect(end.payload, JSON.stringify(end)).toMatchObject({ status: "completed", errors: [] });
      expect(code).toBe(0);
      expect(log.split("\n")).toEqual([
        "agent: Say hello",
        "Ada: Say it to the world",
        "Ada: Tell what it does",
      ]);
      expect(files).toEqual(["ABOUT.md", "README.md", "hello.txt"]);
      expect(progressOf(messages).map(({ storyId, status }) => `${storyId} ${status}`)).toEqual([
        ...["US-001 in_progress", "US-001 completed", "US-002 in_progress", "US-002 completed"],
        ...["US-003 in_progress", "US-003 completed"],
      ]);
      const usages = messages.flatMap((message) => (message.type === "usage" ? [message.payload] : []));
      expect(usages.at(-1)?.inputTokens).toBeGreaterThan(0);
      expect(
        messages.some((message) => message.type === "activity" && message.payload.summary === "I write it."),
      ).toBe(true);
    },
  );
});

describe("a real agent's word is no end", () => {
  const one = (changes: Partial<UserStory> = {}) => [story("US-001", changes)];

  test.each<[string, Scenarios[string], Partial<RequestedAgent>, string]>([
    ["says that it is done and changed nothing", [{ text: "I did it all." }], {}, "NOTHING_CHANGED"],
    ["ran out of turns", [{ run: "date", repeat: true }], { maxTurns: 2 }, "AGENT_LIMIT_REACHED"],
    ["was refused by its model", [{ text: "No.", stop: "refusal", repeat: true }], {}, "AGENT_CRASH"],
    ["met an error that its result calls a success", [{ fault: { status: 500 } }], {}, "AGENT_CRASH"],
    ["lost its network", [{ fault: { cut: "before" } }], {}, "AGENT_CRASH"],
  ])("Claude Code %s: the story fails by that", async (_what, scenario, changes, code) => {
    const { messages, code: exitCode } = await carryOut({ "US-001": scenario }, one(), {
      agent: { ...claude, ...changes },
    });

    expect(progressOf(messages).at(-1)).toMatchObject({ status: "failed", reason: { code } });
    expect(exitCode).toBe(1);
  });

  test("Claude Code was denied a tool, ended with exit 0 and called it a success: the story fails by that", async () => {
    const settings = JSON.stringify({ permissions: { deny: ["Edit(secret.txt)"] } });
    const { messages, code } = await carryOut(
      {
        "US-001": [
          { tool: { name: "Write", input: { file_path: "/workspace/secret.txt", content: "a" } } },
          { run: "echo b > b.txt" },
          { text: "Done." },
        ],
      },
      one({ mayBeEmpty: true }),
      {
        agent: claude,
        before: (worker) =>
          worker.run(
            ["sh", "-c", 'mkdir -p ~/.claude; echo "$1" > ~/.claude/settings.json', "sh", settings],
            "1000:1000",
          ),
      },
    );

    expect(progressOf(messages).at(-1)).toMatchObject({
      status: "failed",
      reason: { code: "AGENT_CRASH", message: expect.stringContaining("Write") },
    });
    expect(code).toBe(1);
  });

  test("Claude Code used up a budget that it was given: the story fails by that", async () => {
    const wrapper = '#!/bin/sh\nexec /usr/local/bin/claude --max-budget-usd 0.01 "$@"\n';
    const { messages } = await carryOut(
      { "US-001": [{ run: "date", repeat: true, usage: { inputTokens: 1_000_000, outputTokens: 1_000 } }] },
      one({ mayBeEmpty: true }),
      {
        agent: { ...claude, env: { ...claude.env, PATH: "/home/agent/bin:/usr/local/bin:/usr/bin:/bin" } },
        before: (worker) =>
          worker.run(
            [
              "sh",
              "-c",
              'mkdir -p ~/bin; printf %s "$1" > ~/bin/claude; chmod +x ~/bin/claude',
              "sh",
              wrapper,
            ],
            "1000:1000",
          ),
      },
    );

    expect(progressOf(messages).at(-1)).toMatchObject({
      status: "failed",
      reason: { code: "AGENT_LIMIT_REACHED", message: expect.stringContaining("budget") },
    });
  });

  test("a credential that is refused ends the worker at once", async () => {
    const { end, code } = await carryOut({ "US-001": [{ fault: { status: 403 } }] }, one(), {
      agent: claude,
    });

    expect(end).toMatchObject({ type: "error", payload: { code: "AGENT_AUTH_FAILED" } });
    expect(code).toBe(2);
  });
});
