import type { ModelEndpoint } from "../contract/gateway.ts";
import { type ModelApi, modelApis } from "../egress/parse-endpoint.ts";
import type { AgentSpec } from "./agent-credentials.ts";

/** A model API that the gateway offers to a worker under a name. */
export type GatewayModelEndpoint = Pick<ModelEndpoint, "name" | "api">;

/** How one worker reaches model APIs and other servers through the gateway. */
export interface WorkerGatewayAccess {
  /** The gateway's base URL for requests from the sandbox, without a slash at the end. */
  readonly url: string;
  /**
   * The token with which the worker authenticates at the gateway. It consists of letters, digits, `-` and
   * `_`, and no other server accepts it.
   */
  readonly token: string;
  readonly endpoints: readonly GatewayModelEndpoint[];
  /** The names of the registries that the worker may read through the gateway: `npm`, `go` or `github`. */
  readonly mirrors: readonly string[];
}

type Variables = Readonly<Record<string, string>>;

/**
 * Returns the environment variables that make an agent and its tools send their requests to the gateway.
 * None of them contains a real API key.
 */
export function gatewayEnvironment(agent: AgentSpec, access: WorkerGatewayAccess): Variables {
  return { ...modelVariables(agent, access), ...tunnelVariables(access), ...mirrorVariables(access) };
}

/**
 * Functions that return the environment variables for known agent programs, by the program's name without a
 * folder. A command with a path never matches, because the path could hold any program.
 */
const variablesByProgram: Readonly<Record<string, (access: WorkerGatewayAccess) => Variables>> = {
  claude: claudeVariables,
  "claude-agent-acp": claudeVariables,
  codex: codexVariables,
  "codex-acp": codexVariables,
  gemini: geminiVariables,
  opencode: opencodeVariables,
};

function modelVariables({ kind, command }: AgentSpec, access: WorkerGatewayAccess): Variables {
  if (kind === "script") return {};
  const program = kind === "claude" ? kind : (command?.[0] ?? "");
  const variablesOf = Object.hasOwn(variablesByProgram, program) ? variablesByProgram[program] : undefined;
  return (variablesOf ?? commonVariables)(access);
}

/**
 * Returns the environment variables for Claude Code. They pass the gateway's token in ANTHROPIC_AUTH_TOKEN,
 * because Claude Code would ask the user about an unknown API key. If the token were passed as a
 * subscription's token, Claude Code would expect the real API and send more requests.
 */
function claudeVariables(access: WorkerGatewayAccess): Variables {
  const address = addressOf("anthropic", access);
  if (address === null) return {};
  return {
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_AUTH_TOKEN: access.token,
    // Claude Code's other traffic is turned off, because the gateway would refuse it.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

const codexKey = "OPENAI_API_KEY";

/**
 * Returns the environment variables for Codex. No variable sets the API's address for Codex itself, but
 * `codex-acp`, its adapter for the Agent Client Protocol, reads the address from CODEX_CONFIG.
 */
function codexVariables(access: WorkerGatewayAccess): Variables {
  const address = addressOf("openai", access);
  if (address === null) return {};
  // A model provider of its own: with the built-in provider `openai`, Codex would demand a login and first try a
  // WebSocket.
  const aimi = { name: "aimi", base_url: `${address}/v1`, wire_api: "responses", env_key: codexKey };
  const settings = { model_provider: "aimi", model_providers: { aimi } };
  return { CODEX_CONFIG: JSON.stringify(settings), [codexKey]: access.token };
}

function geminiVariables(access: WorkerGatewayAccess): Variables {
  if (addressOf("google", access) === null) return {};
  // In a folder that is not trusted, Gemini CLI asks its user before it does anything.
  return { ...commonOf("google", access), GEMINI_CLI_TRUST_WORKSPACE: "true" };
}

const opencodePaths = { anthropic: "/v1", openai: "/v1", google: "/v1beta" } as const;

/**
 * Returns the environment variables for opencode, with a list of model providers. Without the list, opencode
 * would call the models of its own vendor.
 */
function opencodeVariables(access: WorkerGatewayAccess): Variables {
  const providers = modelApis.flatMap((api) => {
    const address = addressOf(api, access);
    const options = { baseURL: `${address}${opencodePaths[api]}`, apiKey: access.token };
    return address === null ? [] : [[api, { options }] as const];
  });
  const settings = {
    enabled_providers: providers.map(([api]) => api),
    provider: Object.fromEntries(providers),
  };
  return { OPENCODE_CONFIG_CONTENT: JSON.stringify(settings) };
}

/**
 * Returns the environment variables for an agent program that swarm does not know. They are the usual
 * variables of each API, and a URL and a key for each endpoint whose name differs from its API's name.
 */
function commonVariables(access: WorkerGatewayAccess): Variables {
  const { url, token, endpoints } = access;
  const named = endpoints
    .filter(({ name, api }) => name !== api)
    .map(({ name }) => {
      const variable = `AIMI_MODEL_${name.toUpperCase().replaceAll("-", "_")}`;
      return { [`${variable}_URL`]: `${url}/m/${name}`, [`${variable}_KEY`]: token };
    });
  return Object.assign({}, ...modelApis.map((api) => commonOf(api, access)), ...named);
}

const commonNames = {
  anthropic: { address: "ANTHROPIC_BASE_URL", path: "", key: "ANTHROPIC_API_KEY" },
  openai: { address: "OPENAI_BASE_URL", path: "/v1", key: "OPENAI_API_KEY" },
  google: { address: "GOOGLE_GEMINI_BASE_URL", path: "", key: "GEMINI_API_KEY" },
} as const;

function commonOf(api: ModelApi, access: WorkerGatewayAccess): Variables {
  const found = addressOf(api, access);
  const { address, path, key } = commonNames[api];
  return found === null ? {} : { [address]: `${found}${path}`, [key]: access.token };
}

/**
 * Returns the gateway's URL for the given model API; null if no endpoint has this API. If several endpoints
 * have this API, prefers the one with the API's name.
 */
function addressOf(api: ModelApi, { url, endpoints }: WorkerGatewayAccess): string | null {
  const speaking = endpoints.filter((endpoint) => endpoint.api === api);
  const chosen = speaking.find(({ name }) => name === api) ?? speaking[0];
  return chosen === undefined ? null : `${url}/m/${chosen.name}`;
}

/**
 * Returns the proxy's environment variables, even if the worker may reach no host: the gateway refuses a
 * connection at once, but without the proxy a connection would wait for its timeout.
 */
function tunnelVariables({ url, token }: WorkerGatewayAccess): Variables {
  const proxy = url.replace("://", `://worker:${token}@`);
  // Requests to models and registries go to the gateway's own address, not through its proxy.
  const direct = [...new Set(["127.0.0.1", "localhost", "::1", new URL(url).hostname])].join(",");
  return {
    HTTPS_PROXY: proxy,
    https_proxy: proxy,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1",
    // Makes git send the token with its first request. By default, git first tries without it and is refused.
    GIT_HTTP_PROXY_AUTHMETHOD: "basic",
  };
}

function mirrorVariables({ url, token, mirrors }: WorkerGatewayAccess): Variables {
  const at = (name: string): string => `${url}/r/${token}/${name}`;
  return {
    ...(mirrors.includes("npm") && npmVariables(`${at("npm")}/`)),
    // Go reads the checksum database through GOPROXY, too.
    ...(mirrors.includes("go") && { GOPROXY: at("go") }),
    ...(mirrors.includes("github") && gitVariables(`${at("github")}/`)),
  };
}

/** Lockfiles need no change: in its requests, npm replaces the registry's addresses with the gateway's. */
function npmVariables(registry: string): Variables {
  return {
    npm_config_registry: registry,
    YARN_REGISTRY: registry,
    // Turns off npm's requests that do not read packages, because the gateway refuses them.
    npm_config_audit: "false",
    npm_config_update_notifier: "false",
  };
}

const githubAddresses = ["https://github.com/", "git@github.com:", "ssh://git@github.com/"];

function gitVariables(mirror: string): Variables {
  const pairs = githubAddresses.flatMap((address, index) => [
    [`GIT_CONFIG_KEY_${index}`, `url.${mirror}.insteadOf`],
    [`GIT_CONFIG_VALUE_${index}`, address],
  ]);
  return { GIT_CONFIG_COUNT: String(githubAddresses.length), ...Object.fromEntries(pairs) };
}
