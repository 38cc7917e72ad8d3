import { describe, expect, test } from "vitest";
import { claudeAgent } from "../../../adapter/agents/claude-agent.ts";
import {
  type AgentSpec,
  agentVariableValues,
  describeCredentials,
  findAgentPackageKey,
  findAgentVariables,
  findVariablesOfAgents,
} from "../../../src/agents/agent-credentials.ts";
import { findNetworkWarning, needsModelApi, parseWorkerNetwork } from "../../../src/egress/worker-network.ts";
import { agentPackages } from "../../../src/engine/rules/base-image.ts";

const acp = (...command: string[]): AgentSpec => ({ kind: "acp", command });
const claudeCode: AgentSpec = { kind: "claude" };

/** An environment that has everything, and what must never leave it. */
const rich: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: "a",
  ANTHROPIC_BASE_URL: "https://models.example",
  ANTHROPIC_MODEL: "m",
  CLAUDE_CODE_OAUTH_TOKEN: "o",
  OPENAI_API_KEY: "p",
  OPENAI_BASE_URL: "https://other.example",
  GEMINI_API_KEY: "g",
  GOOGLE_GEMINI_BASE_URL: "https://third.example",
  GITHUB_TOKEN: "never",
  GH_TOKEN: "never",
  SSH_AUTH_SOCK: "never",
  GIT_ASKPASS: "never",
  AWS_SECRET_ACCESS_KEY: "never",
  NPM_TOKEN: "never",
  PATH: "never",
};

describe("what goes into an agent's environment", () => {
  test.each<[string, AgentSpec, string[]]>([
    ["Claude Code", claudeCode, ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"]],
    [
      "Claude's agent of the protocol",
      acp("claude-agent-acp"),
      ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"],
    ],
    ["Codex", acp("codex-acp"), ["OPENAI_API_KEY", "OPENAI_BASE_URL"]],
    ["Gemini", acp("gemini", "--acp"), ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"]],
    [
      "OpenCode",
      acp("opencode", "acp"),
      [
        ...["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "OPENAI_API_KEY"],
        ...["OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
      ],
    ],
    ["a program that nobody knows", acp("my-agent"), []],
    ["a path that ends like a known one", acp("./gemini"), []],
    ["a name that every object has", acp("constructor"), []],
  ])("%s", (_name, agent, variables) => {
    const handed = agentVariableValues(agent, rich);

    expect(Object.keys(handed ?? {})).toEqual(variables);
    expect(Object.values(handed ?? {})).not.toContain("never");
    expect(findAgentVariables(agent, (name) => name in rich)).toMatchObject({ variables, missing: [] });
  });

  test("one secret is enough, and it is the one that the agent would prefer", () => {
    const env = { ...rich, ANTHROPIC_AUTH_TOKEN: "t" };

    expect(agentVariableValues(claudeCode, env)).toMatchObject({ ANTHROPIC_AUTH_TOKEN: "t" });
    expect(agentVariableValues(claudeCode, env)).not.toHaveProperty("ANTHROPIC_API_KEY");
    expect(agentVariableValues(claudeCode, { CLAUDE_CODE_OAUTH_TOKEN: "o", ANTHROPIC_API_KEY: "" })).toEqual({
      CLAUDE_CODE_OAUTH_TOKEN: "o",
    });
  });

  test("without a secret nothing goes in, and what would be needed is named", () => {
    const env = { ANTHROPIC_BASE_URL: "https://models.example", ANTHROPIC_API_KEY: "" };

    expect(agentVariableValues(claudeCode, env)).toBeNull();
    expect(findAgentVariables(claudeCode, (name) => name === "ANTHROPIC_BASE_URL")).toEqual({
      ...{ agent: "claude", variables: [] },
      missing: ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
    });
    // What Claude Code is let in by is known at two places.
    expect(claudeAgent.needsOneOf).toEqual(
      expect.arrayContaining([...(findAgentVariables(claudeCode, () => false)?.missing ?? [])]),
    );
  });

  test.each(["ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK"])(
    "an agent whose task file brings %s gets nothing and misses nothing",
    (name) => {
      const agent = { ...claudeCode, env: { [name]: "own" } };

      expect(agentVariableValues(agent, rich)).toBeNull();
      expect(findAgentVariables(agent, () => false)).toEqual({ agent: "claude", variables: [], missing: [] });
    },
  );

  test.each(["script", "command"])("an agent of the kind %s calls no model that we know of", (kind) => {
    expect(findAgentVariables({ kind, command: ["gemini"] }, () => true)).toBeNull();
    expect(agentVariableValues({ kind, command: ["gemini"] }, rich)).toBeNull();
  });

  test("is said once for each agent, by names alone", () => {
    const agents = [claudeCode, acp("gemini"), { kind: "script" }, { ...claudeCode }, acp("a\u001b[31mb")];

    const lines = findVariablesOfAgents(agents, (name) => name in rich).map(describeCredentials);

    expect(lines).toEqual([
      "claude: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL go into the agent's own environment inside its sandbox (in memory only), where the agent can read them",
      "acp gemini: GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL go into the agent's own environment inside its sandbox (in memory only), where the agent can read them",
      "acp ab: swarm passes no variable of this environment to the agent; a trusted task file can set agent.env",
    ]);
    expect(describeCredentials({ agent: "claude", variables: ["ANTHROPIC_API_KEY"] })).toBe(
      "claude: ANTHROPIC_API_KEY goes into the agent's own environment inside its sandbox (in memory only), where the agent can read it",
    );
  });

  test("whatever is known to speak the protocol can be put into the image", () => {
    const agents = [
      claudeCode,
      ...["claude-agent-acp", "codex-acp", "gemini", "opencode"].map((name) => acp(name)),
    ];

    expect(
      agents.map(findAgentPackageKey).filter((name) => name === null || !(name in agentPackages)),
    ).toEqual([]);
    expect(findAgentPackageKey(acp("my-agent"))).toBeNull();
    expect(findAgentPackageKey({ kind: "script" })).toBeNull();
  });
});

describe("the network of workers", () => {
  test("is none, the gateway, the engine's own, or one by its name", () => {
    expect(["none", "gateway", "bridge", "agents"].map(parseWorkerNetwork)).toEqual([
      { kind: "none" },
      { kind: "gateway" },
      { kind: "bridge" },
      { kind: "named", name: "agents" },
    ]);
    expect(["claude", "acp", "command", "script"].map(needsModelApi)).toEqual([true, true, false, false]);
  });

  test("is said to be unfiltered wherever nobody stands before it", () => {
    expect(["none", "gateway"].map(findNetworkWarning)).toEqual([null, null]);
    expect(findNetworkWarning("bridge")).toContain(
      "network bridge: NOT filtered, the programs in these sandboxes can reach the internet",
    );
    expect(findNetworkWarning("agents")).toMatch(/^network agents: NOT filtered, .*--network gateway/);
  });
});
