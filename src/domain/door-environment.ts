import type { NamedAgent } from "./agent-credentials.ts";

/** A model endpoint of the gateway. */
export interface GatewayEndpoint {
  readonly name: string;
  readonly api: "anthropic" | "openai" | "google" | null;
}

/** One worker's network access through the gateway. */
export interface GatewayAccess {
  /** The gateway's address as the sandbox sees it, without a slash at the end. */
  readonly url: string;
  /** The worker's own token: letters, digits, `-` and `_`. Only this gateway accepts it. */
  readonly token: string;
  readonly endpoints: readonly GatewayEndpoint[];
  /** Registries that the worker reads through the gateway: npm, go, github. */
  readonly mirrors: readonly string[];
}

type Variables = Readonly<Record<string, string>>;
type Api = NonNullable<GatewayEndpoint["api"]>;

/** The variables that direct an agent, and the tools that it runs, to the gateway. None holds a real key. */
export function gatewayEnvironment(agent: NamedAgent, access: GatewayAccess): Variables {
  return { ...modelVariables(agent, access), ...tunnelVariables(access), ...mirrorVariables(access) };
}

/** Known programs, by bare name: a path could name any program. */
const variablesByProgram: Readonly<Record<string, (access: GatewayAccess) => Variables>> = {
  claude: claudeVariables,
  "claude-agent-acp": claudeVariables,
  codex: codexVariables,
  "codex-acp": codexVariables,
  gemini: geminiVariables,
  opencode: opencodeVariables,
};

function modelVariables(agent: NamedAgent, access: GatewayAccess): Variables {
  if (agent.kind === "script") return {};
  const program = programOf(agent);
  const variablesOf = Object.hasOwn(variablesByProgram, program) ? variablesByProgram[program] : undefined;
  return (variablesOf ?? commonVariables)(access);
}

function programOf({ kind, command }: NamedAgent): string {
  return kind === "claude" ? kind : (command?.[0] ?? "");
}

/**
 * The gateway's token goes into ANTHROPIC_AUTH_TOKEN. With an unknown API key Claude Code asks its user; with a
 * subscription's token it expects the real API and calls more of it. The requests are the same as with a key.
 */
function claudeVariables(access: GatewayAccess): Variables {
  const address = addressOf("anthropic", access);
  if (address === null) return {};
  return {
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_AUTH_TOKEN: access.token,
    // The gateway would refuse the rest of its traffic.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

const codexKey = "OPENAI_API_KEY";

/** Codex has no variable for an address; `codex-acp`, its protocol adapter, reads settings from CODEX_CONFIG. */
function codexVariables(access: GatewayAccess): Variables {
  const provider = codexProvider(access);
  if (provider === null) return {};
  const settings = { model_provider: "aimi", model_providers: { aimi: provider } };
  return { CODEX_CONFIG: JSON.stringify(settings), [codexKey]: access.token };
}

/** A provider named `aimi`: for its provider `openai` Codex demands a login, and tries a WebSocket first. */
function codexProvider(access: GatewayAccess): Variables | null {
  const address = addressOf("openai", access);
  if (address === null) return null;
  return { name: "aimi", base_url: `${address}/v1`, wire_api: "responses", env_key: codexKey };
}

function geminiVariables(access: GatewayAccess): Variables {
  const variables = commonOf("google", access);
  // In a folder without trust Gemini asks before it does anything.
  return addressOf("google", access) === null ? {} : { ...variables, GEMINI_CLI_TRUST_WORKSPACE: "true" };
}

const opencodePaths = { anthropic: "/v1", openai: "/v1", google: "/v1beta" } as const;

/** Without a list of providers, opencode calls its makers' own models. */
function opencodeVariables(access: GatewayAccess): Variables {
  const providers = apis.flatMap((api) => {
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

/** For an unknown program: the common variables, and two for each endpoint with a name of its own. */
function commonVariables(access: GatewayAccess): Variables {
  const { url, token, endpoints } = access;
  const named = endpoints
    .filter(({ name, api }) => name !== api)
    .map(({ name }) => {
      const variable = `AIMI_MODEL_${name.toUpperCase().replaceAll("-", "_")}`;
      return { [`${variable}_URL`]: `${url}/m/${name}`, [`${variable}_KEY`]: token };
    });
  return Object.assign({}, ...apis.map((api) => commonOf(api, access)), ...named);
}

const apis: readonly Api[] = ["anthropic", "openai", "google"];

const commonNames = {
  anthropic: { address: "ANTHROPIC_BASE_URL", path: "", key: "ANTHROPIC_API_KEY" },
  openai: { address: "OPENAI_BASE_URL", path: "/v1", key: "OPENAI_API_KEY" },
  google: { address: "GOOGLE_GEMINI_BASE_URL", path: "", key: "GEMINI_API_KEY" },
} as const;

function commonOf(api: Api, access: GatewayAccess): Variables {
  const found = addressOf(api, access);
  const { address, path, key } = commonNames[api];
  return found === null ? {} : { [address]: `${found}${path}`, [key]: access.token };
}

/** The address of an API: the endpoint of its name, else the first endpoint that speaks it. */
function addressOf(api: Api, { url, endpoints }: GatewayAccess): string | null {
  const speaking = endpoints.filter((endpoint) => endpoint.api === api);
  const chosen = speaking.find(({ name }) => name === api) ?? speaking[0];
  return chosen === undefined ? null : `${url}/m/${chosen.name}`;
}

/** Set even if no host is allowed: the gateway refuses at once, while a connection without a route runs into its timeout. */
function tunnelVariables({ url, token }: GatewayAccess): Variables {
  const proxy = url.replace("://", `://worker:${token}@`);
  // Requests for models and mirrors go to the gateway directly, not through its proxy.
  const direct = [...new Set(["127.0.0.1", "localhost", "::1", new URL(url).hostname])].join(",");
  return {
    ...{ HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: direct, no_proxy: direct },
    NODE_USE_ENV_PROXY: "1",
    // Git would send each first request without the token, only to be refused.
    GIT_HTTP_PROXY_AUTHMETHOD: "basic",
  };
}

function mirrorVariables({ url, token, mirrors }: GatewayAccess): Variables {
  const at = (name: string): string => `${url}/r/${token}/${name}`;
  return {
    // A lock file keeps the registry's own addresses: npm replaces them in its requests.
    ...(mirrors.includes("npm") ? npmVariables(`${at("npm")}/`) : {}),
    // Go reads the checksum database through it, too.
    ...(mirrors.includes("go") ? { GOPROXY: at("go") } : {}),
    ...(mirrors.includes("github") ? gitVariables(`${at("github")}/`) : {}),
  };
}

function npmVariables(registry: string): Variables {
  // The mirror refuses npm's other requests, which do not read packages.
  const quiet = { npm_config_audit: "false", npm_config_update_notifier: "false" };
  return { npm_config_registry: registry, YARN_REGISTRY: registry, ...quiet };
}

const githubAddresses = ["https://github.com/", "git@github.com:", "ssh://git@github.com/"];

function gitVariables(mirror: string): Variables {
  const pairs = githubAddresses.flatMap((address, index) => [
    [`GIT_CONFIG_KEY_${index}`, `url.${mirror}.insteadOf`],
    [`GIT_CONFIG_VALUE_${index}`, address],
  ]);
  return { GIT_CONFIG_COUNT: String(githubAddresses.length), ...Object.fromEntries(pairs) };
}
