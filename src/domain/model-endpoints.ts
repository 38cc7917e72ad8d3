import { agentName, type NamedAgent, type Provider, providersOf } from "./agent-credentials.ts";
import {
  type HeaderPlan,
  type ModelApi,
  type ParsedAddress,
  parseEndpoint,
  parseUrl,
} from "./endpoint-words.ts";
import { showReference } from "./secret-reference.ts";
import type { Settings } from "./settings.ts";

/** The gateway's credential for a model, with references to its secrets. */
export type CredentialPlan =
  | {
      readonly kind: "headers";
      /** Headers of each call, in place of the agent's headers of these names. */
      readonly headers: Readonly<Record<string, HeaderPlan>>;
      /** Values to add to the agent's headers of these names. */
      readonly adds?: Readonly<Record<string, string>>;
    }
  /** For Anthropic: a subscription's login, its token or a key; the host finds out which when it reads the secret. */
  | { readonly kind: "login"; readonly reference: string };

/** A model endpoint that the gateway calls. */
export interface EndpointPlan {
  readonly name: string;
  /** The provider whose models its agents expect there; null for an endpoint that the settings open to all agents. */
  readonly provider: ModelApi | null;
  /** The API that it speaks; null if the settings do not say. */
  readonly api: ModelApi | null;
  readonly url: string;
  readonly credential: CredentialPlan;
  /** Further headers and parameters of an agent's request that the gateway forwards. */
  readonly pass: readonly string[];
  /** Names of the agents that call it; null for all. */
  readonly agents: readonly string[] | null;
}

export type EndpointSettings = Pick<
  Settings,
  "modelEndpoints" | "credentials.anthropic" | "credentials.openai" | "credentials.google"
>;

type Variables = Readonly<Record<string, string | undefined>>;

export interface PlannedEndpoints {
  readonly endpoints: readonly EndpointPlan[];
  /** Agents without credentials, each with the variables of which it needs one. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /** Addresses in the environment that the gateway cannot call, as facts of INVALID_VALUE. */
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

/** The header that goes with every token of a subscription; without it the API does not accept the token. */
export const tokenFlag: Readonly<Record<string, string>> = { "anthropic-beta": "oauth-2025-04-20" };

/**
 * Plans the endpoints that the gateway calls for these agents, and its credentials. It reads addresses from the
 * environment, and whether secrets are set; the plan holds references to secrets, never the secrets.
 */
export function planEndpoints(
  agents: readonly NamedAgent[],
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
    (agent) => providersOf(agent).length > 0 && !calls.some((call) => call.agent === agentName(agent)),
  );
  return {
    endpoints: agents.some(mayCallOwn) ? [...endpoints, ...forAll(own)] : endpoints,
    missing: eachOnce(
      lacking.map((agent) => ({
        agent: agentName(agent),
        variables: providersOf(agent).flatMap(({ secrets }) => secrets),
      })),
    ),
    problems: eachOnce(calls.flatMap(({ address }) => address.problem ?? [])),
  };
}

/** The names of the planned endpoints that a worker with this agent may call. */
export function endpointsOf(agent: NamedAgent, endpoints: readonly EndpointPlan[]): string[] {
  const name = providersOf(agent).length > 0 ? agentName(agent) : null;
  return endpoints
    .filter(({ agents }) => (agents === null ? mayCallOwn(agent) : name !== null && agents.includes(name)))
    .map((endpoint) => endpoint.name);
}

/** The user's variables for an agent that hold neither a secret nor an address, such as the choice of a model. */
export function plainVariablesOf(agent: NamedAgent, env: Variables): Readonly<Record<string, string>> {
  return Object.fromEntries(
    providersOf(agent).flatMap(({ companions, address }) =>
      companions.flatMap((name) => (name !== address && env[name] ? [[name, env[name]] as const] : [])),
    ),
  );
}

/** Describes the endpoints, for the user to read before anything starts: names and hosts, never a secret. */
export function describeEndpoints(endpoints: readonly EndpointPlan[]): string[] {
  return endpoints.map(({ name, url, credential, agents }) => {
    const { host } = new URL(url);
    const who =
      agents === null ? "every agent may call" : `${list(agents)} ${agents.length > 1 ? "call" : "calls"}`;
    const where = agents === null ? `${host} as ${name}` : host;
    const secrets = shownSecrets(credential);
    if (secrets.length === 0) return `${who} ${where} through the gateway, which has no credentials for it`;
    const stay = secrets.length > 1 ? "stay" : "stays";
    const sandboxes = agents?.length === 1 ? "its sandbox" : "their sandboxes";
    return `${who} ${where} through the gateway with ${list(secrets)}, which ${stay} outside of ${sandboxes}`;
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
  agent: NamedAgent,
  own: readonly ParsedAddress[],
  settings: EndpointSettings,
  env: Variables,
): Call[] {
  return providersOf(agent).flatMap((provider) => {
    const chosen = own.find(({ name }) => name === provider.name);
    const credential = chosen
      ? credentialAt(chosen, provider, settings, env)
      : credentialFor(provider, settings, env);
    if (credential === null) return [];
    const address = chosen ? { url: chosen.url, pass: chosen.pass } : addressOf(provider, env);
    const api = chosen?.api ?? provider.name;
    return [{ agent: agentName(agent), provider: provider.name, api, address, credential }];
  });
}

/** The credential for an address of the user's choice: its own headers, else the provider's credential, else none. */
function credentialAt(
  { headers }: ParsedAddress,
  provider: Provider,
  settings: EndpointSettings,
  env: Variables,
): CredentialPlan {
  if (Object.keys(headers).length > 0) return { kind: "headers", headers };
  return credentialFor(provider, settings, env) ?? { kind: "headers", headers: {} };
}

function credentialFor(
  { name, secrets }: Provider,
  settings: EndpointSettings,
  env: Variables,
): CredentialPlan | null {
  const variable = secrets.find((secret) => env[secret]);
  const reference = settings[`credentials.${name}`] ?? (variable === undefined ? null : `env:${variable}`);
  return reference === null ? null : credentialBy(reference, name);
}

function credentialBy(reference: string, api: ModelApi): CredentialPlan {
  const bearer = { authorization: { before: "Bearer ", reference } };
  if (api === "openai" || reference === "env:ANTHROPIC_AUTH_TOKEN")
    return { kind: "headers", headers: bearer };
  if (api === "google") return { kind: "headers", headers: { "x-goog-api-key": { before: "", reference } } };
  if (reference === "env:CLAUDE_CODE_OAUTH_TOKEN")
    return { kind: "headers", headers: bearer, adds: tokenFlag };
  if (reference === "env:ANTHROPIC_API_KEY")
    return { kind: "headers", headers: { "x-api-key": { before: "", reference } } };
  return { kind: "login", reference };
}

function addressOf({ name, address }: Provider, env: Variables): Address {
  const text = env[address];
  if (!text) return { url: addresses[name], pass: [] };
  const parsed = parseUrl(text);
  if ("url" in parsed) return { url: withoutVersion(parsed.url, name), pass: [] };
  return {
    ...{ url: addresses[name], pass: [] },
    problem: { name: address, value: shownAddress(text), expected: parsed.reason },
  };
}

/** An address without the version at its end: programs write it into their paths, so it would stand there twice. */
function withoutVersion(url: string, api: ModelApi | null): string {
  return api === "openai" ? url.replace(/\/v1$/, "") : url;
}

/** The part of an address that cannot hold a secret. */
function shownAddress(text: string): string {
  return URL.canParse(text) ? new URL(text).origin : "…";
}

function ownEndpoints({ modelEndpoints }: EndpointSettings): ParsedAddress[] {
  return modelEndpoints.flatMap((words) => {
    const parsed = parseEndpoint(words);
    if (parsed.kind === "refused") return [];
    const api = parsed.api ?? (isBuiltIn(parsed.name) ? parsed.name : null);
    return [{ ...parsed, url: withoutVersion(parsed.url, api) }];
  });
}

/** The user's endpoints that replace no provider's, open to all agents. */
function forAll(own: readonly ParsedAddress[]): EndpointPlan[] {
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

/** Whether an agent may call the user's own endpoints. A script agent calls no model. */
function mayCallOwn({ kind }: NamedAgent): boolean {
  return kind !== "script";
}

/** A name that is not taken: agents with different secrets need several endpoints of one provider. */
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
  return references.map((reference) => showReference(reference).replace(/^env:/, ""));
}

function list(words: readonly string[]): string {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
}

function eachOnce<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
