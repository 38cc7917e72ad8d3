import {
  type HeaderTemplate,
  type ModelApi,
  type ParsedUpstream,
  parseBaseUrl,
  parseModelEndpoint,
} from "../egress/parse-endpoint.ts";
import type { Settings } from "../settings/rules/settings.ts";
import {
  type AgentSpec,
  agentDisplayName,
  eachOnce,
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

  // Plans the additional endpoints in the user's settings, which replace no provider's endpoint. Every agent may call
  // them.
  const additional = own
    .filter(({ name }) => !isBuiltIn(name))
    .map(
      ({ name, api, url, pass, headers }): EndpointPlan => ({
        name,
        provider: null,
        api,
        url,
        pass,
        agents: null,
        credential: { kind: "headers", headers },
      }),
    );
  const names = new Set(additional.map(({ name }) => name));
  const endpoints = [...planned.values()].map(({ provider, api, address, credential, agents: callers }) => {
    const name = freeName(provider, names);
    names.add(name);
    return { name, provider, api, url: address.url, pass: address.pass, credential, agents: [...callers] };
  });
  return {
    endpoints: agents.some(mayCallOwn) ? [...endpoints, ...additional] : endpoints,
    missing: eachOnce(
      agents.flatMap((each) => {
        const agent = agentDisplayName(each);
        const variables = modelProvidersOf(each).flatMap(({ secretVariables }) => secretVariables);
        const isLacking = variables.length > 0 && !calls.some((call) => call.agent === agent);
        return isLacking ? [{ agent, variables }] : [];
      }),
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
    const stated = chosen && Object.keys(chosen.headers).length > 0 ? chosen.headers : null;
    // An endpoint in the user's settings needs no credential.
    const otherwise = chosen ? ({ kind: "headers", headers: {} } as const) : null;
    const credential = stated
      ? { kind: "headers" as const, headers: stated }
      : (credentialFor(provider, settings, env) ?? otherwise);
    if (credential === null) return [];
    const address = chosen ?? addressOf(provider, env);
    const api = chosen?.api ?? provider.name;
    return [{ agent: agentDisplayName(agent), provider: provider.name, api, address, credential }];
  });
}

function credentialFor(
  { name, secretVariables }: ModelProvider,
  settings: EndpointSettings,
  env: Variables,
): CredentialPlan | null {
  const variable = secretVariables.find((secret) => env[secret]);
  const reference = settings[`credentials.${name}`] ?? (variable === undefined ? null : `env:${variable}`);
  if (reference === null) return null;
  const inHeader = (header: string, before = ""): CredentialPlan & { readonly kind: "headers" } => ({
    kind: "headers",
    headers: { [header]: { before, reference } },
  });
  const bearer = inHeader("authorization", "Bearer ");
  if (name === "openai" || reference === "env:ANTHROPIC_AUTH_TOKEN") return bearer;
  if (name === "google") return inHeader("x-goog-api-key");
  if (reference === "env:CLAUDE_CODE_OAUTH_TOKEN") return { ...bearer, adds: subscriptionTokenHeader };
  return reference === "env:ANTHROPIC_API_KEY" ? inHeader("x-api-key") : { kind: "login", reference };
}

function addressOf({ name, address }: ModelProvider, env: Variables): Address {
  const official = { url: addresses[name], pass: [] };
  const text = env[address];
  if (!text) return official;
  const parsed = parseBaseUrl(text);
  if ("url" in parsed) return { url: withoutVersion(parsed.url, name), pass: [] };
  // Shows only the scheme, the host and the port, because the rest may contain a secret.
  const value = URL.canParse(text) ? new URL(text).origin : "…";
  return { ...official, problem: { name: address, value, expected: parsed.reason } };
}

/**
 * Removes the API's version, `/v1`, from the end of an OpenAI address. Agent programs add the version to
 * their requests' paths, so URLs would contain it twice.
 */
function withoutVersion(url: string, api: ModelApi | null): string {
  return api === "openai" ? url.replace(/\/v1$/, "") : url;
}

function ownEndpoints({ modelEndpoints }: EndpointSettings): ParsedUpstream[] {
  return modelEndpoints.flatMap((words) => {
    const parsed = parseModelEndpoint(words);
    if (parsed.kind === "refused") return [];
    const api = parsed.api ?? (isBuiltIn(parsed.name) ? parsed.name : null);
    return [{ ...parsed, url: withoutVersion(parsed.url, api) }];
  });
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
