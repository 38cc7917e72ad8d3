import { type AgentSpec, describeCredentials, findVariablesOfAgents } from "./agent-credentials.ts";
import { egressPresets, parseAllowList } from "./egress.ts";
import { describeEndpoints, type EndpointSettings, planEndpoints } from "./model-endpoints.ts";
import type { Settings } from "./settings.ts";
import { findNetworkWarning } from "./worker-network.ts";

export type AgentAccessSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** The network access of agents and the credentials that they use, as shown to the user before a start. */
export interface AgentAccessReport {
  /** Lines that the user reads before anything starts. They contain names and addresses, but no secrets. */
  readonly lines: readonly string[];
  /** Agents without a credential, each with the variables of which the user must set one. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /** Invalid addresses in environment variables, each as the facts of an INVALID_VALUE error. */
  readonly problems: readonly {
    readonly name: string;
    readonly value: string;
    readonly expected: string;
  }[];
}

/**
 * Finds the network access and the credentials of agents. `allowed` has the hosts and presets that their task files
 * allow in addition to the settings.
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

/** Describes the hosts and presets that `--allow`, settings and task files allow in addition to model APIs. */
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

/** Describes to the user how sandboxes connect to the gateway. */
export function describeGatewayTransport(transport: "socket" | "network"): string {
  return transport === "socket"
    ? "sandboxes have no network and reach the gateway through a shared socket"
    : "each sandbox has its own network, to which only the gateway is also connected";
}
