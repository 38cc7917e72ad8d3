import { accessesOf, describeCredentials, type NamedAgent } from "./agent-credentials.ts";
import { parseAllow, presets } from "./egress.ts";
import { describeEndpoints, type EndpointSettings, planEndpoints } from "./model-endpoints.ts";
import type { Settings } from "./settings.ts";
import { describeNetwork } from "./worker-network.ts";

export type ReachSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** The network access of agents and the credentials that they use, as shown to the user before a start. */
export interface Reach {
  /** Lines that the user reads before anything starts. They contain names and addresses, but no secrets. */
  readonly lines: readonly string[];
  /** Agents for which no credential is set, each with the variables of which the agent needs one. */
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
export function reachOf(
  agents: readonly NamedAgent[],
  allowed: readonly string[],
  settings: ReachSettings,
  env: Readonly<Record<string, string | undefined>>,
): Reach {
  if (settings.network === "gateway") {
    const { endpoints, missing, problems } = planEndpoints(agents, settings, env);
    const words = agents.length === 0 ? [] : [...settings.allow, ...allowed];
    const lines = [...describeEndpoints(endpoints), ...describeAllowed(words)];
    return { lines, missing, problems };
  }
  const accesses = accessesOf(agents, (name) => Boolean(env[name]));
  const network = agents.length === 0 ? null : describeNetwork(settings.network);
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
    const preset = Object.hasOwn(presets, word) ? presets[word] : undefined;
    if (preset) return [`${word} (${preset.opens})`];
    return parseAllow([word]).hosts.map(({ host, port }) => `${host}:${port}`);
  });
  return shown.length === 0
    ? []
    : [`in addition to model APIs, the gateway allows: ${[...new Set(shown)].join(", ")}`];
}

/** Describes to the user how sandboxes connect to the gateway. */
export function transportWords(transport: "socket" | "network"): string {
  return transport === "socket"
    ? "sandboxes have no network and reach the gateway through a shared socket"
    : "each sandbox has its own network, which only the gateway joins";
}
