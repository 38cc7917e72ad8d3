import { egressPresets, parseAllowList } from "../egress/allow-list.ts";
import { findNetworkWarning } from "../egress/worker-network.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { type AgentSpec, describeCredentials, findVariablesOfAgents } from "./agent-credentials.ts";
import { describeEndpoints, type EndpointSettings, planEndpoints } from "./model-endpoints.ts";

export type AgentAccessSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** What swarm shows to the user before workers start: the agents' network access and credentials. */
export interface AgentAccessReport {
  /** Lines of text that swarm shows to the user. They contain names and addresses, but no secrets. */
  readonly lines: readonly string[];
  /** The agents that lack a credential, each with the variables of which the user must set one. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /**
   * The environment variables with an invalid address. Each entry holds the details for an INVALID_VALUE
   * error.
   */
  readonly problems: readonly {
    readonly name: string;
    readonly value: string;
    readonly expected: string;
  }[];
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
  const network = agents.length === 0 ? null : findNetworkWarning(settings.network);
  return {
    lines: [...(network === null ? [] : [network]), ...accesses.map(describeCredentials)],
    missing: accesses
      .filter(({ missing }) => missing.length > 0)
      .map(({ agent, missing }) => ({ agent, variables: missing })),
    problems: [],
  };
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
