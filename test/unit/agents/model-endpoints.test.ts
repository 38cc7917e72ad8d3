import { describe, expect, test } from "vitest";
import { describeEndpoints } from "../../../src/agents/agent-access-report.ts";
import { type AgentSpec, nonSecretVariablesOf } from "../../../src/agents/agent-credentials.ts";
import {
  type EndpointSettings,
  endpointNamesForAgent,
  planEndpoints,
} from "../../../src/agents/model-endpoints.ts";
import { parseBaseUrl, parseModelEndpoint } from "../../../src/egress/parse-endpoint.ts";
import { planMirrors } from "../../../src/egress/plan-mirrors.ts";
import { resolveModelEndpoint } from "../../../src/gateway/resolve-endpoint.ts";

const claude: AgentSpec = { kind: "claude" };
const script: AgentSpec = { kind: "script" };
const command: AgentSpec = { kind: "command", command: ["./agent"] };
const acp = (...words: string[]): AgentSpec => ({ kind: "acp", command: words });

const plain: EndpointSettings = {
  modelEndpoints: [],
  ...{ "credentials.anthropic": null, "credentials.openai": null, "credentials.google": null },
};

function plan(
  agents: readonly AgentSpec[],
  env: Readonly<Record<string, string>>,
  settings: Partial<EndpointSettings> = {},
) {
  return planEndpoints(agents, { ...plain, ...settings }, env);
}

const header = (name: string, reference: string, before = "") => ({
  kind: "headers",
  headers: { [name]: { before, reference } },
});

describe("the endpoints of agents", () => {
  test.each([
    [
      "ANTHROPIC_AUTH_TOKEN",
      claude,
      "api.anthropic.com",
      header("authorization", "env:ANTHROPIC_AUTH_TOKEN", "Bearer "),
    ],
    [
      "ANTHROPIC_API_KEY",
      acp("claude-agent-acp"),
      "api.anthropic.com",
      header("x-api-key", "env:ANTHROPIC_API_KEY"),
    ],
    [
      ...(["CLAUDE_CODE_OAUTH_TOKEN", claude, "api.anthropic.com"] as const),
      {
        ...header("authorization", "env:CLAUDE_CODE_OAUTH_TOKEN", "Bearer "),
        adds: { "anthropic-beta": "oauth-2025-04-20" },
      },
    ],
    [
      "CODEX_API_KEY",
      acp("codex-acp"),
      "api.openai.com",
      header("authorization", "env:CODEX_API_KEY", "Bearer "),
    ],
    [
      "OPENAI_API_KEY",
      acp("codex-acp"),
      "api.openai.com",
      header("authorization", "env:OPENAI_API_KEY", "Bearer "),
    ],
    [
      ...(["GEMINI_API_KEY", acp("gemini"), "generativelanguage.googleapis.com"] as const),
      header("x-goog-api-key", "env:GEMINI_API_KEY"),
    ],
  ])("%s lets the gateway in, and its value is in no plan", (variable, agent, host, credential) => {
    const planned = plan([agent], { [variable]: "sesame" });

    expect(planned).toMatchObject({
      endpoints: [{ url: `https://${host}`, credential }],
      missing: [],
      problems: [],
    });
    expect(JSON.stringify(planned)).not.toContain("sesame");
    expect(describeEndpoints(planned.endpoints).join()).not.toContain("sesame");
  });

  test("have the first secret that the agent itself would take, and settings before all of them", () => {
    const env = { ANTHROPIC_API_KEY: "a", ANTHROPIC_AUTH_TOKEN: "b", CLAUDE_CODE_OAUTH_TOKEN: "c" };

    const [byVariable] = plan([claude], env).endpoints;
    const [bySetting] = plan([claude], env, { "credentials.anthropic": "cmd:pass show key" }).endpoints;

    expect(byVariable?.credential).toEqual(header("authorization", "env:ANTHROPIC_AUTH_TOKEN", "Bearer "));
    expect(bySetting?.credential).toEqual({ kind: "login", reference: "cmd:pass show key" });
    expect(plan([acp("gemini")], {}, { "credentials.google": "env:MINE" })).toMatchObject({
      endpoints: [{ credential: header("x-goog-api-key", "env:MINE") }],
      missing: [],
    });
  });

  test("are one for all agents that are let in alike, and two where they are not", () => {
    const env = { ANTHROPIC_API_KEY: "a", ANTHROPIC_AUTH_TOKEN: "b" };
    const opencode = acp("opencode", "acp");
    const agents = [claude, claude, acp("claude-agent-acp"), opencode];

    const { endpoints } = plan(agents, env);

    expect(endpoints.map(({ name, provider, agents: callers }) => [name, provider, callers])).toEqual([
      ["anthropic", "anthropic", ["claude", "acp claude-agent-acp"]],
      ["anthropic-2", "anthropic", ["acp opencode"]],
    ]);
    expect(endpointNamesForAgent(claude, endpoints)).toEqual(["anthropic"]);
    expect(endpointNamesForAgent(opencode, endpoints)).toEqual(["anthropic-2"]);
    expect(
      [script, command, acp("my-agent")].flatMap((agent) => endpointNamesForAgent(agent, endpoints)),
    ).toEqual([]);
  });

  test("are those that are let in, of an agent with several companies", () => {
    const { endpoints, missing } = plan([acp("opencode")], { OPENAI_API_KEY: "a", GEMINI_API_KEY: "b" });

    expect(endpoints.map(({ name }) => name)).toEqual(["openai", "google"]);
    expect(missing).toEqual([]);
  });

  test("are missing where nothing lets them in, and not for agents that need none", () => {
    const own = { ...claude, env: { ANTHROPIC_API_KEY: "of a trusted task file" } };

    expect(plan([claude, claude, script, command, acp("my-agent"), own], { GITHUB_TOKEN: "x" })).toEqual({
      ...{ endpoints: [], problems: [] },
      missing: [
        {
          agent: "claude",
          variables: ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
        },
      ],
    });
  });

  test("know nothing of what speaks for the user to git and its hosts", () => {
    const env = {
      ...{ GITHUB_TOKEN: "never", GH_TOKEN: "never", SSH_AUTH_SOCK: "never", GIT_ASKPASS: "never" },
      ...{ ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b", GEMINI_API_KEY: "c", ANTHROPIC_MODEL: "m" },
    };
    const agents = [claude, acp("codex-acp"), acp("gemini"), acp("opencode"), command, script];

    const shown = JSON.stringify([
      plan(agents, env),
      ...agents.map((agent) => nonSecretVariablesOf(agent, env)),
    ]);

    expect(shown).not.toMatch(/never|GIT|GH_|SSH/);
    expect(nonSecretVariablesOf(claude, env)).toEqual({ ANTHROPIC_MODEL: "m" });
  });
});

describe("the addresses of endpoints", () => {
  test.each([
    ["ANTHROPIC_BASE_URL", "https://models.example/anthropic/", claude, "https://models.example/anthropic"],
    ["OPENAI_BASE_URL", "https://models.example/v1", acp("codex-acp"), "https://models.example"],
    [
      "OPENAI_BASE_URL",
      "https://models.example/openai/v1/",
      acp("codex-acp"),
      "https://models.example/openai",
    ],
    ["GOOGLE_GEMINI_BASE_URL", "http://10.0.0.7:8080", acp("gemini"), "http://10.0.0.7:8080"],
  ])("%s=%s is the user's", (variable, address, agent, url) => {
    const env = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b", GEMINI_API_KEY: "c", [variable]: address };

    expect(plan([agent], env)).toMatchObject({ endpoints: [{ url }], problems: [] });
  });

  test.each([
    "http://localhost:4000",
    "http://LOCALHOST./",
    "https://models.localhost",
    "http://127.0.0.1:8080/v1",
    "http://127.9.9.9",
    "http://0x7f.1",
    "http://2130706433/",
    "http://[::1]:8080",
    "http://[::ffff:127.0.0.1]/",
    "http://0.0.0.0",
    "ftp://models.example",
    "models.example",
    "https://user:sesame@models.example",
    "https://models.example?key=sesame",
  ])("%s is told to be none that the gateway can call", (address) => {
    const { problems } = plan([claude], { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: address });

    expect(problems).toEqual([
      {
        name: "ANTHROPIC_BASE_URL",
        value: expect.any(String),
        expected: expect.stringContaining("an address"),
      },
    ]);
    expect(JSON.stringify(problems)).not.toContain("sesame");
    expect(parseModelEndpoint(`mine=${address}`)).toMatchObject({ kind: "refused" });
  });

  test.each([
    "http://127-0-0-1.example",
    "http://localhost.example",
    "http://10.0.0.1",
    "http://[fd00::1]:1",
  ])("%s is another machine's", (address) => {
    expect(parseBaseUrl(address)).toEqual({ url: address });
  });

  test("of agents that are not due are nobody's business", () => {
    expect(plan([claude], { ANTHROPIC_API_KEY: "a", OPENAI_BASE_URL: "http://localhost" }).problems).toEqual(
      [],
    );
  });
});

describe("endpoints of one's own", () => {
  test("are open to every agent but scripts, with several headers", () => {
    const modelEndpoints = [
      "mine=https://models.example/v1/,header=Authorization:Bearer env:MINE,header=X-Team:file:~/team,api=openai",
      "bare=http://10.0.0.7:8080,header=X-Key:cmd:pass show 'a, b'",
    ];

    const { endpoints } = plan([command, script], {}, { modelEndpoints });

    expect(endpoints).toEqual([
      {
        ...{
          name: "mine",
          provider: null,
          api: "openai",
          url: "https://models.example",
          agents: null,
          pass: [],
        },
        credential: {
          kind: "headers",
          headers: {
            authorization: { before: "Bearer ", reference: "env:MINE" },
            "x-team": { before: "", reference: "file:~/team" },
          },
        },
      },
      {
        ...{ name: "bare", provider: null, api: null, url: "http://10.0.0.7:8080", agents: null, pass: [] },
        credential: header("x-key", "cmd:pass show 'a, b'"),
      },
    ]);
    expect(endpointNamesForAgent(command, endpoints)).toEqual(["mine", "bare"]);
    expect(endpointNamesForAgent(script, endpoints)).toEqual([]);
    expect(plan([script], {}, { modelEndpoints }).endpoints).toEqual([]);
  });

  test("with a company's name stand in for it, for its own agents alone", () => {
    const env = { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: "https://not-this.example" };
    const at = (words: string, variables: Readonly<Record<string, string>> = env) =>
      plan([claude, command], variables, { modelEndpoints: [words] });

    expect(at("anthropic=https://models.example").endpoints).toMatchObject([
      {
        name: "anthropic",
        url: "https://models.example",
        agents: ["claude"],
        credential: header("x-api-key", "env:ANTHROPIC_API_KEY"),
      },
    ]);
    expect(at("anthropic=https://models.example,header=X-Key:env:MINE").endpoints).toMatchObject([
      { credential: header("x-key", "env:MINE") },
    ]);
    // A model at home lets everybody in.
    expect(at("anthropic=http://10.0.0.7", {})).toMatchObject({
      ...{ endpoints: [{ credential: { kind: "headers", headers: {} } }], missing: [] },
    });
  });

  test.each(["constructor", "tostring", "anthropic-2"])("may be called %s", (name) => {
    const env = { ANTHROPIC_API_KEY: "a", ANTHROPIC_AUTH_TOKEN: "b" };
    const modelEndpoints = [`${name}=https://models.example`];

    const names = plan([claude, acp("opencode")], env, { modelEndpoints }).endpoints.map((each) => each.name);

    expect(names).toHaveLength(3);
    expect(new Set(names).size).toBe(3);
  });
});

describe("what is said of endpoints", () => {
  test("are names of agents, hosts and references", () => {
    const { endpoints } = plan(
      [claude, acp("claude-agent-acp"), acp("codex-acp"), acp("gemini")],
      { ANTHROPIC_API_KEY: "sesame", OPENAI_API_KEY: "sesame" },
      {
        "credentials.openai": "cmd:fetch --token sesame",
        "credentials.google": "file:~/google",
        modelEndpoints: [
          "mine=https://models.example:8443",
          "two=https://two.example,header=A:env:A,header=B:env:B",
        ],
      },
    );

    expect(describeEndpoints(endpoints)).toEqual([
      "claude and acp claude-agent-acp call api.anthropic.com through the gateway with ANTHROPIC_API_KEY, which stays outside their sandboxes",
      "acp codex-acp calls api.openai.com through the gateway with cmd:fetch …, which stays outside its sandbox",
      "acp gemini calls generativelanguage.googleapis.com through the gateway with file:~/google, which stays outside its sandbox",
      "every agent may call models.example:8443 as mine through the gateway, which has no credentials for this API",
      "every agent may call two.example as two through the gateway with A and B, which stay outside their sandboxes",
    ]);
  });
});

describe("an endpoint with its secrets", () => {
  const login = {
    accessToken: "sk-ant-oat01-x",
    refreshToken: "sk-ant-ort01-y",
    expiresAt: 1_800_000_000_000,
  };
  const secrets: Readonly<Record<string, string>> = {
    "env:ANTHROPIC_AUTH_TOKEN": "token",
    "env:CLAUDE_CODE_OAUTH_TOKEN": "subscription",
    "file:/login": JSON.stringify({ claudeAiOauth: login }, null, 2),
    "file:/token": "sk-ant-oat01-z",
    "file:/key": "sk-ant-api03-k",
  };
  const resolve = async (env: Readonly<Record<string, string>>, settings: Partial<EndpointSettings> = {}) => {
    const [planned] = plan([claude], env, settings).endpoints;
    if (!planned) throw new Error("nothing was planned");
    return (await resolveModelEndpoint(planned, async (reference) => secrets[reference] ?? "")).credential;
  };

  test("sets what lets one in", async () => {
    expect(await resolve({ ANTHROPIC_AUTH_TOKEN: "x" })).toEqual({
      ...{ kind: "headers", headers: { authorization: "Bearer token" } },
    });
    expect(await resolve({ CLAUDE_CODE_OAUTH_TOKEN: "x" })).toEqual({
      kind: "headers",
      headers: { authorization: "Bearer subscription", "anthropic-beta": "oauth-2025-04-20" },
    });
  });

  test.each([
    ["file:/login", { kind: "login", ...login }],
    ["file:/token", { kind: "headers", headers: { authorization: "Bearer sk-ant-oat01-z" } }],
    ["file:/key", { kind: "headers", headers: { "x-api-key": "sk-ant-api03-k" } }],
  ])("takes what %s holds for what it is", async (reference, credential) => {
    expect(await resolve({}, { "credentials.anthropic": reference })).toMatchObject(credential);
  });

  test("puts no login into a header", async () => {
    const resolving = resolve(
      {},
      { modelEndpoints: ["anthropic=https://a.example,header=X-Key:file:/login"] },
    );

    await expect(resolving).rejects.toMatchObject({ code: "CREDENTIAL_UNREADABLE" });
  });
});

describe("the mirrors of presets", () => {
  test("read from the user's own registry, else from the public one, and only where a preset was opened", () => {
    const registries = [
      "npm=https://packages.example/npm/,header=Authorization:Bearer env:NPM",
      "go=https://go.example",
    ];

    expect(planMirrors(["npm", "github", "constructor"], registries)).toEqual([
      {
        ...{ name: "npm", url: "https://packages.example/npm" },
        headers: { authorization: { before: "Bearer ", reference: "env:NPM" } },
      },
      { name: "github", url: "https://github.com", headers: {} },
    ]);
  });
});
