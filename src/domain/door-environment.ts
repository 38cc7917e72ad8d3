import type { NamedAgent } from "./agent-credentials.ts";

/** A way to models below the door. */
export interface DoorEndpoint {
  readonly name: string;
  readonly api: "anthropic" | "openai" | "google" | null;
}

/** What one worker may reach, and by what. */
export interface DoorAccess {
  /** Its address as the sandbox sees it, without a slash at the end. */
  readonly door: string;
  /** The worker's own; letters, digits, `-` and `_`. It is worth nothing elsewhere. */
  readonly token: string;
  readonly endpoints: readonly DoorEndpoint[];
  /** Registries that are read through it: npm, go, github. */
  readonly mirrors: readonly string[];
}

type Variables = Readonly<Record<string, string>>;
type Api = NonNullable<DoorEndpoint["api"]>;

/** All variables by which an agent, and the tools that it runs, find their way through the door. None holds a real key. */
export function doorEnvironment(agent: NamedAgent, access: DoorAccess): Variables {
  return { ...modelVariables(agent, access), ...tunnelVariables(access), ...mirrorVariables(access) };
}

/** Programs that are known, by their bare names: a path may lead to anything. */
const waysByProgram: Readonly<Record<string, (access: DoorAccess) => Variables>> = {
  claude: claudeWay,
  "claude-agent-acp": claudeWay,
  codex: codexWay,
  "codex-acp": codexWay,
  gemini: geminiWay,
  opencode: opencodeWay,
};

function modelVariables(agent: NamedAgent, access: DoorAccess): Variables {
  if (agent.kind === "script") return {};
  const program = programOf(agent);
  const way = Object.hasOwn(waysByProgram, program) ? waysByProgram[program] : undefined;
  return (way ?? commonWay)(access);
}

function programOf({ kind, command }: NamedAgent): string {
  return kind === "claude" ? kind : (command?.[0] ?? "");
}

/**
 * As a token and not as a key: Claude Code asks its user about keys that it does not know, and of a subscription's token it
 * takes the real API to be there and asks it for more. The requests are the same as with a key.
 */
function claudeWay(access: DoorAccess): Variables {
  const address = addressOf("anthropic", access);
  if (address === null) return {};
  return {
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_AUTH_TOKEN: access.token,
    // The rest of its traffic would only be refused.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

const codexKey = "OPENAI_API_KEY";

/** Codex knows no variable for an address. What speaks the protocol for it takes its settings from one. */
function codexWay(access: DoorAccess): Variables {
  const provider = codexProvider(access);
  if (provider === null) return {};
  const settings = { model_provider: "aimi", model_providers: { aimi: provider } };
  return { CODEX_CONFIG: JSON.stringify(settings), [codexKey]: access.token };
}

/** One of our own: for OpenAI's it wants a login, and tries a WebSocket first. */
function codexProvider(access: DoorAccess): Variables | null {
  const address = addressOf("openai", access);
  if (address === null) return null;
  return { name: "aimi", base_url: `${address}/v1`, wire_api: "responses", env_key: codexKey };
}

function geminiWay(access: DoorAccess): Variables {
  const variables = commonOf("google", access);
  // In a folder that it was not told to trust it does nothing unasked.
  return addressOf("google", access) === null ? {} : { ...variables, GEMINI_CLI_TRUST_WORKSPACE: "true" };
}

const opencodePaths = { anthropic: "/v1", openai: "/v1", google: "/v1beta" } as const;

/** Without a list of whom it may ask, it asks its makers' own models. */
function opencodeWay(access: DoorAccess): Variables {
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

/** A program that nobody knows gets what is common, and the others by their names. */
function commonWay(access: DoorAccess): Variables {
  const { door, token, endpoints } = access;
  const named = endpoints
    .filter(({ name, api }) => name !== api)
    .map(({ name }) => {
      const variable = `AIMI_MODEL_${name.toUpperCase().replaceAll("-", "_")}`;
      return { [`${variable}_URL`]: `${door}/m/${name}`, [`${variable}_KEY`]: token };
    });
  return Object.assign({}, ...apis.map((api) => commonOf(api, access)), ...named);
}

const apis: readonly Api[] = ["anthropic", "openai", "google"];

const commonNames = {
  anthropic: { address: "ANTHROPIC_BASE_URL", path: "", key: "ANTHROPIC_API_KEY" },
  openai: { address: "OPENAI_BASE_URL", path: "/v1", key: "OPENAI_API_KEY" },
  google: { address: "GOOGLE_GEMINI_BASE_URL", path: "", key: "GEMINI_API_KEY" },
} as const;

function commonOf(api: Api, access: DoorAccess): Variables {
  const found = addressOf(api, access);
  const { address, path, key } = commonNames[api];
  return found === null ? {} : { [address]: `${found}${path}`, [key]: access.token };
}

/** Where an API is to be found: at the endpoint of its name, or else at the first that speaks it. */
function addressOf(api: Api, { door, endpoints }: DoorAccess): string | null {
  const speaking = endpoints.filter((endpoint) => endpoint.api === api);
  const chosen = speaking.find(({ name }) => name === api) ?? speaking[0];
  return chosen === undefined ? null : `${door}/m/${chosen.name}`;
}

/** Also where nothing is allowed: a refusal is told at once, and a call into nowhere only after its time. */
function tunnelVariables({ door, token }: DoorAccess): Variables {
  const proxy = door.replace("://", `://worker:${token}@`);
  // Models and mirrors are asked at the door itself.
  const direct = [...new Set(["127.0.0.1", "localhost", "::1", new URL(door).hostname])].join(",");
  return {
    ...{ HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: direct, no_proxy: direct },
    NODE_USE_ENV_PROXY: "1",
    // It would first ask without the token, to be told that one is needed.
    GIT_HTTP_PROXY_AUTHMETHOD: "basic",
  };
}

function mirrorVariables({ door, token, mirrors }: DoorAccess): Variables {
  const at = (name: string): string => `${door}/r/${token}/${name}`;
  return {
    // A lock file keeps the registry's own addresses: npm replaces them as it asks.
    ...(mirrors.includes("npm") ? npmVariables(`${at("npm")}/`) : {}),
    // The database of checksums is asked through it, too.
    ...(mirrors.includes("go") ? { GOPROXY: at("go") } : {}),
    ...(mirrors.includes("github") ? gitVariables(`${at("github")}/`) : {}),
  };
}

function npmVariables(registry: string): Variables {
  // What it would ask besides is refused, as it is no reading.
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
