import { describe, expect, test } from "vitest";
import {
  type GatewayModelEndpoint,
  gatewayEnvironment,
  type WorkerGatewayAccess,
} from "../../../src/agents/gateway-environment.ts";

const door = "http://10.213.0.2:18877";
const token = "worker-token_1";

const anthropic: GatewayModelEndpoint = { name: "anthropic", api: "anthropic" };
const openai: GatewayModelEndpoint = { name: "openai", api: "openai" };
const google: GatewayModelEndpoint = { name: "google", api: "google" };

const accessTo = (
  endpoints: readonly GatewayModelEndpoint[],
  more: Partial<WorkerGatewayAccess> = {},
): WorkerGatewayAccess => ({
  ...{ url: door, token, endpoints, mirrors: [] },
  ...more,
});
const all = accessTo([anthropic, openai, google]);
/** What every agent gets for the tools that it runs, whatever its models are. */
const tunnel = {
  HTTPS_PROXY: `http://worker:${token}@10.213.0.2:18877`,
  https_proxy: `http://worker:${token}@10.213.0.2:18877`,
  NO_PROXY: "127.0.0.1,localhost,::1,10.213.0.2",
  no_proxy: "127.0.0.1,localhost,::1,10.213.0.2",
  NODE_USE_ENV_PROXY: "1",
  GIT_HTTP_PROXY_AUTHMETHOD: "basic",
};
const acp = (...command: string[]) => ({ kind: "acp", command });
const command = (...words: string[]) => ({ kind: "command", command: words });

describe("an agent that is known finds its models in its own way", () => {
  test.each([
    ["Claude Code", { kind: "claude" }],
    ["Claude Code by the protocol", acp("claude-agent-acp")],
    ["Claude Code as a program", command("claude", "-p")],
  ])("%s: with a token, about which it asks nobody, and no key", (_name, agent) => {
    expect(gatewayEnvironment(agent, all)).toEqual({
      ANTHROPIC_BASE_URL: `${door}/m/anthropic`,
      ANTHROPIC_AUTH_TOKEN: token,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      ...tunnel,
    });
  });

  test.each([
    ["Codex by the protocol", acp("codex-acp")],
    ["Codex as a program", command("codex", "exec", "-")],
  ])(
    "%s: by settings in a variable, for it knows none for an address, and no token in them",
    (_name, agent) => {
      const { CODEX_CONFIG = "", ...rest } = gatewayEnvironment(agent, all);

      expect(rest).toEqual({ OPENAI_API_KEY: token, ...tunnel });
      expect(CODEX_CONFIG).not.toContain(token);
      expect(JSON.parse(CODEX_CONFIG)).toEqual({
        model_provider: "aimi",
        model_providers: {
          aimi: {
            ...{ name: "aimi", base_url: `${door}/m/openai/v1` },
            ...{ wire_api: "responses", env_key: "OPENAI_API_KEY" },
          },
        },
      });
    },
  );

  test.each([
    ["Gemini by the protocol", acp("gemini", "--acp")],
    ["Gemini as a program", command("gemini", "-p", "x")],
  ])("%s: by its variables, and trusting its folder", (_name, agent) => {
    expect(gatewayEnvironment(agent, all)).toEqual({
      GOOGLE_GEMINI_BASE_URL: `${door}/m/google`,
      GEMINI_API_KEY: token,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      ...tunnel,
    });
  });

  test("opencode: by settings in a variable, with nobody to ask but those at the door", () => {
    const { OPENCODE_CONFIG_CONTENT = "", ...rest } = gatewayEnvironment(
      acp("opencode", "acp"),
      accessTo([openai, google]),
    );

    expect(rest).toEqual(tunnel);
    expect(JSON.parse(OPENCODE_CONFIG_CONTENT)).toEqual({
      enabled_providers: ["openai", "google"],
      provider: {
        openai: { options: { baseURL: `${door}/m/openai/v1`, apiKey: token } },
        google: { options: { baseURL: `${door}/m/google/v1beta`, apiKey: token } },
      },
    });
  });

  test.each(["claude", "claude-agent-acp", "codex", "codex-acp", "gemini"])(
    "%s without an endpoint that speaks its API is given nothing of others",
    (program) => {
      const none = accessTo([{ name: "local", api: null }]);

      expect(gatewayEnvironment(command(program), none)).toEqual(tunnel);
    },
  );

  test("without any endpoint opencode may ask nobody, its makers neither", () => {
    const { OPENCODE_CONFIG_CONTENT = "" } = gatewayEnvironment(acp("opencode", "acp"), accessTo([]));

    expect(JSON.parse(OPENCODE_CONFIG_CONTENT)).toEqual({ enabled_providers: [], provider: {} });
  });

  test.each([
    [[{ name: "work", api: "anthropic" } as const], "work"],
    [[{ name: "work", api: "anthropic" } as const, { name: "home", api: "anthropic" } as const], "work"],
    [[{ name: "work", api: "anthropic" } as const, anthropic], "anthropic"],
  ])("an endpoint of another name serves where none has the API's own: %j", (endpoints, expected) => {
    expect(gatewayEnvironment({ kind: "claude" }, accessTo(endpoints))).toMatchObject({
      ANTHROPIC_BASE_URL: `${door}/m/${expected}`,
    });
  });
});

describe("a program that nobody knows", () => {
  const common = {
    ANTHROPIC_BASE_URL: `${door}/m/anthropic`,
    ANTHROPIC_API_KEY: token,
    OPENAI_BASE_URL: `${door}/m/openai/v1`,
    OPENAI_API_KEY: token,
    GOOGLE_GEMINI_BASE_URL: `${door}/m/google`,
    GEMINI_API_KEY: token,
  };

  test.each([
    ["a program", command("python3", "agent.py")],
    ["a program that speaks the protocol", acp("my-agent")],
    ["one at a path, whatever its name", acp("/opt/claude-agent-acp")],
    ["one with a name of JavaScript's own", command("constructor")],
    ["nothing at all", { kind: "command" }],
  ])("gets the common variables of every API: %s", (_name, agent) => {
    expect(gatewayEnvironment(agent, all)).toEqual({ ...common, ...tunnel });
  });

  test("gets endpoints of other names by their names, and no more than there are", () => {
    const more = accessTo([
      { name: "my-vllm-2", api: null },
      { name: "work", api: "openai" },
      { name: "toString", api: null },
    ]);

    expect(gatewayEnvironment(command("x"), more)).toEqual({
      OPENAI_BASE_URL: `${door}/m/work/v1`,
      OPENAI_API_KEY: token,
      AIMI_MODEL_MY_VLLM_2_URL: `${door}/m/my-vllm-2`,
      AIMI_MODEL_MY_VLLM_2_KEY: token,
      AIMI_MODEL_WORK_URL: `${door}/m/work`,
      AIMI_MODEL_WORK_KEY: token,
      AIMI_MODEL_TOSTRING_URL: `${door}/m/toString`,
      AIMI_MODEL_TOSTRING_KEY: token,
      ...tunnel,
    });
  });

  test("that is a script calls no model: only what its tools need", () => {
    const access = accessTo([anthropic, { name: "local", api: null }], { mirrors: ["go"] });

    expect(gatewayEnvironment({ kind: "script" }, access)).toEqual({
      GOPROXY: `${door}/r/${token}/go`,
      ...tunnel,
    });
  });
});

describe("the tools that an agent runs", () => {
  test("reach hosts by the door, and the door itself without a way around, also where nothing is allowed", () => {
    expect(gatewayEnvironment({ kind: "script" }, accessTo([]))).toEqual(tunnel);
  });

  test("are told once of a door that is on this machine", () => {
    const here = accessTo([], { url: "http://127.0.0.1:18877" });

    expect(gatewayEnvironment({ kind: "script" }, here)).toMatchObject({
      NO_PROXY: "127.0.0.1,localhost,::1",
    });
  });

  test("read packages and repositories from mirrors, each only where it is there", () => {
    const at = `${door}/r/${token}`;

    expect(
      gatewayEnvironment({ kind: "script" }, accessTo([], { mirrors: ["npm", "go", "github", "other"] })),
    ).toEqual({
      npm_config_registry: `${at}/npm/`,
      YARN_REGISTRY: `${at}/npm/`,
      npm_config_audit: "false",
      npm_config_update_notifier: "false",
      GOPROXY: `${at}/go`,
      GIT_CONFIG_COUNT: "3",
      GIT_CONFIG_KEY_0: `url.${at}/github/.insteadOf`,
      GIT_CONFIG_VALUE_0: "https://github.com/",
      GIT_CONFIG_KEY_1: `url.${at}/github/.insteadOf`,
      GIT_CONFIG_VALUE_1: "git@github.com:",
      GIT_CONFIG_KEY_2: `url.${at}/github/.insteadOf`,
      GIT_CONFIG_VALUE_2: "ssh://git@github.com/",
      ...tunnel,
    });
    expect(gatewayEnvironment({ kind: "script" }, accessTo([], { mirrors: ["other"] }))).toEqual(tunnel);
  });
});
