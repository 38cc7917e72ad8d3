import { egressPresets, parseAllowList } from "../egress/allow-list.ts";
import { findNetworkWarning } from "../egress/worker-network.ts";
import { redactSecretReference } from "../secrets/rules/secret-reference.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { type AgentSpec, describeCredentials, findVariablesOfAgents } from "./agent-credentials.ts";
import {
  type CredentialPlan,
  type EndpointPlan,
  type EndpointSettings,
  type PlannedEndpoints,
  planEndpoints,
} from "./model-endpoints.ts";

export type AgentAccessSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** What swarm shows to the user before workers start: the agents' network access and credentials. */
export interface AgentAccessReport extends Pick<PlannedEndpoints, "missing" | "problems"> {
  /** Lines of text that swarm shows to the user. They contain names and addresses, but no secrets. */
  readonly lines: readonly string[];
}

/**
 * Collects the network access and the credentials of the given agents. `allowed` lists the hosts and presets
 * that the task files allow in addition to the settings.
 */
export function createAgentAccessReport(
  agents: readonly AgentSpec[],
  allowed: readonly string[],
  settings: AgentAccessSettings,
  env: Readonly<Record<string, string | undefined>>,
): AgentAccessReport {
  if (settings.network === "gateway") {
    const { endpoints, missing, problems } = planEndpoints(agents, settings, env);
    const words = agents.length === 0 ? [] : [...settings.allow, ...allowed];
    const lines = [...describeEndpoints(endpoints), ...describeAllowed(words)];
    return { lines, missing, problems };
  }
  const accesses = findVariablesOfAgents(agents, (name) => Boolean(env[name]));
  const network = agents.length > 0 && findNetworkWarning(settings.network);
  return {
    lines: [...(network ? [network] : []), ...accesses.map(describeCredentials)],
    missing: accesses.flatMap(({ agent, missing: variables }) =>
      variables.length > 0 ? [{ agent, variables }] : [],
    ),
    problems: [],
  };
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

/**
 * Describes the hosts and presets that the user allows, in addition to model APIs, through `--allow`,
 * settings and task files.
 */
function describeAllowed(words: readonly string[]): string[] {
  const shown = words.flatMap((word) => {
    const preset = Object.hasOwn(egressPresets, word) ? egressPresets[word] : undefined;
    if (preset) return [`${word} (${preset.description})`];
    return parseAllowList([word]).hosts.map(({ host, port }) => `${host}:${port}`);
  });
  return shown.length === 0
    ? []
    : [`in addition to model APIs, the gateway allows: ${[...new Set(shown)].join(", ")}`];
}

/** Describes to the user over which connection sandboxes reach the gateway. */
export function describeGatewayTransport(transport: "socket" | "network"): string {
  return transport === "socket"
    ? "sandboxes have no network and reach the gateway through a shared socket"
    : "each sandbox has its own network, to which only the gateway is also connected";
}
