import {
  type HeaderTemplate,
  type ModelApi,
  type ParsedUpstream,
  parseBaseUrl,
  parseModelEndpoint,
} from "../egress/parse-endpoint.ts";
import { redactSecretReference } from "../secrets/rules/secret-reference.ts";
import type { Settings } from "../settings/rules/settings.ts";
import {
  type AgentSpec,
  agentDisplayName,
  type ModelProvider,
  modelProvidersOf,
} from "./agent-credentials.ts";

/**
 * The credential with which the gateway calls a model API. It contains references to secrets, not the
 * secrets themselves.
 */
export type CredentialPlan =
  | {
      readonly kind: "headers";
      /**
       * Headers that the gateway sets in each call. They replace headers of these names in the agent's
       * request.
       */
      readonly headers: Readonly<Record<string, HeaderTemplate>>;
      /** Values that the gateway appends to headers of these names in the agent's request. */
      readonly adds?: Readonly<Record<string, string>>;
    }
  /**
   * A credential for Anthropic: a subscription's login, a subscription's token, or an API key. swarm
   * recognises the kind when it reads the secret.
   */
  | { readonly kind: "login"; readonly reference: string };

/** A planned model endpoint: an address of a model API that the gateway will call for agents. */
export interface EndpointPlan {
  readonly name: string;
  /**
   * The provider whose models the agents call at this endpoint. Null for an additional endpoint from the
   * settings, which every agent may call.
   */
  readonly provider: ModelApi | null;
  /** The model API that the endpoint implements; null if the settings do not name it. */
  readonly api: ModelApi | null;
  readonly url: string;
  readonly credential: CredentialPlan;
  /** The names of headers and query parameters that the gateway also forwards from an agent's request. */
  readonly pass: readonly string[];
  /** The names of the agents that may call the endpoint; null if all agents may. */
  readonly agents: readonly string[] | null;
}

export type EndpointSettings = Pick<
  Settings,
  "modelEndpoints" | "credentials.anthropic" | "credentials.openai" | "credentials.google"
>;

type Variables = Readonly<Record<string, string | undefined>>;

export interface PlannedEndpoints {
  readonly endpoints: readonly EndpointPlan[];
  /** The agents that lack a credential, each with the variables of which the user must set one. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /**
   * The environment variables whose address the gateway cannot call. Each entry holds the details for an
   * INVALID_VALUE error.
   */
  readonly problems: readonly {
    readonly name: string;
    readonly value: string;
    readonly expected: string;
  }[];
}

const addresses: Readonly<Record<ModelApi, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com",
  google: "https://generativelanguage.googleapis.com",
};

/**
 * The header that the gateway must send with a subscription's token. Without this header, Anthropic's API
 * refuses the token.
 */
export const subscriptionTokenHeader: Readonly<Record<string, string>> = {
  "anthropic-beta": "oauth-2025-04-20",
};

/**
 * Plans which model endpoints the gateway will call for the given agents, and with which credentials. The
 * plan contains references to secrets, never secrets. `env` provides the endpoints' addresses, and shows
 * which secrets are set.
 */
export function planEndpoints(
  agents: readonly AgentSpec[],
  settings: EndpointSettings,
  env: Variables,
): PlannedEndpoints {
  const own = ownEndpoints(settings);
  const calls = agents.flatMap((agent) => callsOf(agent, own, settings, env));
  const planned = new Map<string, Call & { readonly agents: Set<string> }>();
  for (const call of calls) {
    const key = JSON.stringify([call.provider, call.credential]);
    const known = planned.get(key) ?? { ...call, agents: new Set() };
    known.agents.add(call.agent);
    planned.set(key, known);
  }

  const names = new Set(own.map(({ name }) => name).filter((name) => !isBuiltIn(name)));
  const endpoints = [...planned.values()].map(({ provider, api, address, credential, agents: callers }) => {
    const name = freeName(provider, names);
    names.add(name);
    return { name, provider, api, url: address.url, pass: address.pass, credential, agents: [...callers] };
  });
  const lacking = agents.filter(
    (agent) =>
      modelProvidersOf(agent).length > 0 && !calls.some((call) => call.agent === agentDisplayName(agent)),
  );
  return {
    endpoints: agents.some(mayCallOwn) ? [...endpoints, ...forAll(own)] : endpoints,
    missing: eachOnce(
      lacking.map((agent) => ({
        agent: agentDisplayName(agent),
        variables: modelProvidersOf(agent).flatMap(({ secretVariables }) => secretVariables),
      })),
    ),
    problems: eachOnce(calls.flatMap(({ address }) => address.problem ?? [])),
  };
}

/** Returns the names of those planned endpoints that a worker with the given agent may call. */
export function endpointNamesForAgent(agent: AgentSpec, endpoints: readonly EndpointPlan[]): string[] {
  const name = modelProvidersOf(agent).length > 0 ? agentDisplayName(agent) : null;
  return endpoints
    .filter(({ agents }) => (agents === null ? mayCallOwn(agent) : name !== null && agents.includes(name)))
    .map((endpoint) => endpoint.name);
}

/**
 * Returns the user's environment variables for an agent, such as the choice of a model, but no secrets and
 * no addresses.
 */
export function nonSecretVariablesOf(agent: AgentSpec, env: Variables): Readonly<Record<string, string>> {
  return Object.fromEntries(
    modelProvidersOf(agent).flatMap(({ plainVariables, address }) =>
      plainVariables.flatMap((name) => (name !== address && env[name] ? [[name, env[name]] as const] : [])),
    ),
  );
}

/**
 * Describes the planned endpoints to the user before any worker starts, with names and hosts but never a
 * secret.
 */
export function describeEndpoints(endpoints: readonly EndpointPlan[]): string[] {
  return endpoints.map(({ name, url, credential, agents }) => {
    const { host } = new URL(url);
    const who =
      agents === null ? "every agent may call" : `${list(agents)} ${agents.length > 1 ? "call" : "calls"}`;
    const where = agents === null ? `${host} as ${name}` : host;
    const secrets = shownSecrets(credential);
    if (secrets.length === 0)
      return `${who} ${where} through the gateway, which has no credentials for this API`;
    const stay = secrets.length > 1 ? "stay" : "stays";
    const sandboxes = agents?.length === 1 ? "its sandbox" : "their sandboxes";
    return `${who} ${where} through the gateway with ${list(secrets)}, which ${stay} outside ${sandboxes}`;
  });
}

interface Call {
  readonly agent: string;
  readonly provider: ModelApi;
  readonly api: ModelApi;
  readonly address: Address;
  readonly credential: CredentialPlan;
}

interface Address {
  readonly url: string;
  readonly pass: readonly string[];
  readonly problem?: PlannedEndpoints["problems"][number];
}

function callsOf(
  agent: AgentSpec,
  own: readonly ParsedUpstream[],
  settings: EndpointSettings,
  env: Variables,
): Call[] {
  return modelProvidersOf(agent).flatMap((provider) => {
    const chosen = own.find(({ name }) => name === provider.name);
    const credential = chosen
      ? credentialAt(chosen, provider, settings, env)
      : credentialFor(provider, settings, env);
    if (credential === null) return [];
    const address = chosen ? { url: chosen.url, pass: chosen.pass } : addressOf(provider, env);
    const api = chosen?.api ?? provider.name;
    return [{ agent: agentDisplayName(agent), provider: provider.name, api, address, credential }];
  });
}

/**
 * Plans the credential for a provider's endpoint in the user's settings. Uses the headers in the settings;
 * if there are none, uses the provider's credential, if it is set.
 */
function credentialAt(
  { headers }: ParsedUpstream,
  provider: ModelProvider,
  settings: EndpointSettings,
  env: Variables,
): CredentialPlan {
  if (Object.keys(headers).length > 0) return { kind: "headers", headers };
  return credentialFor(provider, settings, env) ?? { kind: "headers", headers: {} };
}

function credentialFor(
  { name, secretVariables }: ModelProvider,
  settings: EndpointSettings,
  env: Variables,
): CredentialPlan | null {
  const variable = secretVariables.find((secret) => env[secret]);
  const reference = settings[`credentials.${name}`] ?? (variable === undefined ? null : `env:${variable}`);
  return reference === null ? null : credentialBy(reference, name);
}

function credentialBy(reference: string, api: ModelApi): CredentialPlan {
  const bearer = { authorization: { before: "Bearer ", reference } };
  if (api === "openai" || reference === "env:ANTHROPIC_AUTH_TOKEN")
    return { kind: "headers", headers: bearer };
  if (api === "google") return { kind: "headers", headers: { "x-goog-api-key": { before: "", reference } } };
  if (reference === "env:CLAUDE_CODE_OAUTH_TOKEN")
    return { kind: "headers", headers: bearer, adds: subscriptionTokenHeader };
  if (reference === "env:ANTHROPIC_API_KEY")
    return { kind: "headers", headers: { "x-api-key": { before: "", reference } } };
  return { kind: "login", reference };
}

function addressOf({ name, address }: ModelProvider, env: Variables): Address {
  const text = env[address];
  if (!text) return { url: addresses[name], pass: [] };
  const parsed = parseBaseUrl(text);
  if ("url" in parsed) return { url: withoutVersion(parsed.url, name), pass: [] };
  return {
    ...{ url: addresses[name], pass: [] },
    problem: { name: address, value: shownAddress(text), expected: parsed.reason },
  };
}

/**
 * Removes the API's version, `/v1`, from the end of an OpenAI address. Agent programs add the version to
 * their requests' paths, so URLs would contain it twice.
 */
function withoutVersion(url: string, api: ModelApi | null): string {
  return api === "openai" ? url.replace(/\/v1$/, "") : url;
}

/** Returns only the scheme, the host and the port of an address, because the rest may contain a secret. */
function shownAddress(text: string): string {
  return URL.canParse(text) ? new URL(text).origin : "…";
}

function ownEndpoints({ modelEndpoints }: EndpointSettings): ParsedUpstream[] {
  return modelEndpoints.flatMap((words) => {
    const parsed = parseModelEndpoint(words);
    if (parsed.kind === "refused") return [];
    const api = parsed.api ?? (isBuiltIn(parsed.name) ? parsed.name : null);
    return [{ ...parsed, url: withoutVersion(parsed.url, api) }];
  });
}

/**
 * Plans the additional endpoints in the user's settings, which replace no provider's endpoint. Every agent
 * may call them.
 */
function forAll(own: readonly ParsedUpstream[]): EndpointPlan[] {
  return own
    .filter(({ name }) => !isBuiltIn(name))
    .map(({ name, api, url, pass, headers }) => ({
      ...{ name, provider: null, api, url, pass, agents: null },
      credential: { kind: "headers", headers },
    }));
}

function isBuiltIn(name: string): name is ModelApi {
  return Object.hasOwn(addresses, name);
}

/**
 * Returns whether an agent may call the additional endpoints in the user's settings. An agent of the kind
 * `script` may not, because it calls no models.
 */
function mayCallOwn({ kind }: AgentSpec): boolean {
  return kind !== "script";
}

/**
 * Returns an endpoint name that no other endpoint has, with a number appended if necessary. Agents with
 * different secrets need several endpoints of the same provider.
 */
function freeName(wanted: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    if (!taken.has(name)) return name;
  }
}

function shownSecrets(credential: CredentialPlan): string[] {
  const references =
    credential.kind === "login"
      ? [credential.reference]
      : Object.values(credential.headers).map(({ reference }) => reference);
  return references.map((reference) => redactSecretReference(reference).replace(/^env:/, ""));
}

function list(words: readonly string[]): string {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
}

function eachOnce<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
