import { describe, expect, test } from "vitest";
import {
  type AgentAccessSettings,
  createAgentAccessReport,
} from "../../../src/agents/agent-access-report.ts";
import type { AgentSpec } from "../../../src/agents/agent-credentials.ts";
import { egressPresets } from "../../../src/egress/allow-list.ts";

const claude: AgentSpec = { kind: "claude" };
const script: AgentSpec = { kind: "script" };
const gemini: AgentSpec = { kind: "acp", command: ["gemini", "--acp"] };

/** With a key that must not be seen anywhere. */
const withKey = { ANTHROPIC_API_KEY: "sesame", GITHUB_TOKEN: "sesame" };
const claudeSecrets = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

function settings(change: Partial<AgentAccessSettings> = {}): AgentAccessSettings {
  return {
    ...{ network: "gateway", allow: [], modelEndpoints: [] },
    ...{ "credentials.anthropic": null, "credentials.openai": null, "credentials.google": null },
    ...change,
  };
}

describe("what agents reach by the gateway", () => {
  test("is their model's API, by a key that stays outside their sandboxes", () => {
    const one = createAgentAccessReport([claude], [], settings(), withKey);
    const two = createAgentAccessReport([claude, gemini, claude], [], settings(), {
      ...withKey,
      GEMINI_API_KEY: "sesame",
    });

    expect(one).toEqual({
      lines: [
        "claude calls api.anthropic.com through the gateway with ANTHROPIC_API_KEY, which stays outside its sandbox",
      ],
      ...{ missing: [], problems: [] },
    });
    expect(two.lines).toEqual([
      ...one.lines,
      "acp gemini calls generativelanguage.googleapis.com through the gateway with GEMINI_API_KEY, which stays outside its sandbox",
    ]);
    expect(JSON.stringify([one, two])).not.toContain("sesame");
  });

  test("is nothing without a key, and the variables of which one would do are named", () => {
    expect(createAgentAccessReport([claude, claude], [], settings(), { GITHUB_TOKEN: "x" })).toEqual({
      ...{ lines: [], problems: [] },
      missing: [{ agent: "claude", variables: claudeSecrets }],
    });
    expect(createAgentAccessReport([claude], [], settings(), { ANTHROPIC_API_KEY: "" }).missing).toHaveLength(
      1,
    );
  });

  test("is nothing of theirs where nobody knows whose models they call, and no key is asked for", () => {
    const unknown: AgentSpec[] = [
      { kind: "acp", command: ["constructor"] },
      { kind: "command", command: ["claude"] },
    ];

    expect(createAgentAccessReport(unknown, [], settings(), withKey)).toEqual({
      lines: [],
      missing: [],
      problems: [],
    });
  });

  test("is their model's API, too, where only the settings say where the key is", () => {
    const reference = { "credentials.anthropic": "cmd:pass show sesame" };

    const reach = createAgentAccessReport([claude], [], settings(reference), {});

    expect(reach).toMatchObject({
      lines: [expect.stringMatching(/^claude calls api\.anthropic\.com through the gateway with cmd:pass/)],
      missing: [],
    });
    // A program may be given the secret itself.
    expect(JSON.stringify(reach)).not.toContain("sesame");
  });

  test("is what was allowed beside it: each word once, presets by what they open, hosts with their port", () => {
    const { lines } = createAgentAccessReport(
      [claude],
      ["npm", "example.org:8443", "github"],
      settings({ allow: ["npm", "Example.com", "example.com:443"] }),
      withKey,
    );

    expect(lines).toEqual([
      expect.stringContaining("api.anthropic.com"),
      `in addition to model APIs, the gateway allows: npm (${egressPresets["npm"]?.description}), example.com:443, example.org:8443, github (${egressPresets["github"]?.description})`,
    ]);
  });

  test.each(["__proto__", "constructor", "169.254.169.254", "*.example.com", "", "npm\nexample.org"])(
    "is not what opens nothing: %j",
    (word) => {
      expect(createAgentAccessReport([claude], [word], settings(), withKey).lines).toHaveLength(1);
      expect(createAgentAccessReport([claude], ["pypi", word], settings(), withKey).lines.at(-1)).toMatch(
        /the gateway allows: pypi \(packages of Python\)$/,
      );
    },
  );

  test("is told of each preset in words", () => {
    for (const [name, { description }] of Object.entries(egressPresets))
      expect(createAgentAccessReport([claude], [name], settings(), withKey).lines.at(-1)).toContain(
        `${name} (${description})`,
      );
  });

  test.each([
    ["http://localhost:4000", "`localhost` means the container"],
    ["http://127.0.0.1:4000", "`localhost` means the container"],
    ["https://user:sesame@models.example", "without a user name or a password"],
  ])("is no address like %s: a problem with the variable's name", (address, expected) => {
    const { problems } = createAgentAccessReport([claude], [], settings(), {
      ...withKey,
      ANTHROPIC_BASE_URL: address,
    });

    expect(problems).toEqual([
      {
        ...{ name: "ANTHROPIC_BASE_URL", value: new URL(address).origin },
        expected: expect.stringContaining(expected),
      },
    ]);
    expect(JSON.stringify(problems)).not.toContain("sesame");
  });

  test("is another address of the user's, in place of the company's", () => {
    const env = { ...withKey, ANTHROPIC_BASE_URL: "https://models.example/anthropic" };

    expect(createAgentAccessReport([claude], [], settings(), env)).toMatchObject({
      lines: [expect.stringMatching(/^claude calls models\.example through the gateway/)],
      problems: [],
    });
  });

  test("is nobody's business where no agent is due, whatever is allowed", () => {
    expect(createAgentAccessReport([], [], settings({ allow: ["npm"] }), withKey)).toEqual({
      ...{ lines: [], missing: [], problems: [] },
    });
  });

  test("is, of a script, only what was allowed", () => {
    expect(createAgentAccessReport([script], [], settings(), withKey).lines).toEqual([]);
    expect(createAgentAccessReport([script], ["pypi"], settings(), withKey)).toEqual({
      lines: ["in addition to model APIs, the gateway allows: pypi (packages of Python)"],
      ...{ missing: [], problems: [] },
    });
  });
});

describe("what agents reach without a gateway", () => {
  test("on the engine's own network is everything, and their variables go into them", () => {
    const reach = createAgentAccessReport(
      [claude, claude, script],
      ["npm"],
      settings({ network: "bridge" }),
      withKey,
    );

    expect(reach).toEqual({
      lines: [
        expect.stringMatching(/^network bridge: NOT filtered, .*--network gateway/),
        expect.stringMatching(/^claude: ANTHROPIC_API_KEY goes into the agent's own environment/),
      ],
      ...{ missing: [], problems: [] },
    });
    expect(JSON.stringify(reach)).not.toMatch(/sesame|GITHUB_TOKEN|through the gateway/);
  });

  test("is not said to be let in by a key that is not there", () => {
    expect(createAgentAccessReport([claude], [], settings({ network: "agents" }), {}).missing).toEqual([
      { agent: "claude", variables: claudeSecrets },
    ]);
  });

  test("may be an address on this machine, which their own sandbox may well have", () => {
    const env = { ...withKey, ANTHROPIC_BASE_URL: "http://localhost:4000" };

    expect(createAgentAccessReport([claude], [], settings({ network: "bridge" }), env).problems).toEqual([]);
  });

  test("without a network is nothing, and of that nothing is said", () => {
    expect(
      createAgentAccessReport([script], ["npm"], settings({ network: "none", allow: ["pypi"] }), withKey),
    ).toEqual({
      ...{ lines: [], missing: [], problems: [] },
    });
  });

  test.each(["none", "bridge", "agents"])("is nobody's business where no agent is due: %s", (network) => {
    expect(createAgentAccessReport([], ["npm"], settings({ network }), withKey).lines).toEqual([]);
  });
});
