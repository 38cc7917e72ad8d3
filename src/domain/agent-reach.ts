import { accessesOf, describeCredentials, type NamedAgent } from "./agent-credentials.ts";
import { parseAllow, presets } from "./egress.ts";
import { describeEndpoints, type EndpointSettings, planEndpoints } from "./model-endpoints.ts";
import type { Settings } from "./settings.ts";
import { describeNetwork } from "./worker-network.ts";

export type ReachSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** The network access of agents, and the credentials that they use. */
export interface Reach {
  /** Lines for the user to read before anything starts: names and addresses, no secrets. */
  readonly lines: readonly string[];
  /** Agents without credentials, each with the variables of which it needs one. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /** Problems of addresses in the environment, as facts of INVALID_VALUE. */
  readonly problems: readonly {
    readonly name: string;
    readonly value: string;
    readonly expected: string;
  }[];
}

/** The network access of these agents; `allowed` is what their task files allow in addition to the settings. */
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

/** The hosts and presets that `--allow`, settings and task files open in addition to models. */
function describeAllowed(words: readonly string[]): string[] {
  const shown = words.flatMap((word) => {
    const preset = Object.hasOwn(presets, word) ? presets[word] : undefined;
    if (preset) return [`${word} (${preset.opens})`];
    return parseAllow([word]).hosts.map(({ host, port }) => `${host}:${port}`);
  });
  return shown.length === 0
    ? []
    : [`the gateway allows, in addition to models: ${[...new Set(shown)].join(", ")}`];
}

/** Describes the transport between sandboxes and the gateway. */
export function transportWords(transport: "socket" | "network"): string {
  return transport === "socket"
    ? "sandboxes have no network, and reach the gateway through a socket"
    : "each sandbox has a network of its own, and only the gateway is in it";
}
