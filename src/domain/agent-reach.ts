import { accessesOf, describeCredentials, type NamedAgent } from "./agent-credentials.ts";
import { parseAllow, presets } from "./egress.ts";
import { describeEndpoints, type EndpointSettings, planEndpoints } from "./model-endpoints.ts";
import type { Settings } from "./settings.ts";
import { describeNetwork } from "./worker-network.ts";

export type ReachSettings = EndpointSettings & Pick<Settings, "network" | "allow">;

/** What agents reach, and by what they are let in there. */
export interface Reach {
  /** Said before anything starts; names and places, and no secret. */
  readonly lines: readonly string[];
  /** Agents that nothing lets in, and the variables of which one would. */
  readonly missing: readonly { readonly agent: string; readonly variables: readonly string[] }[];
  /** What is wrong with an address in the environment: the facts of INVALID_VALUE. */
  readonly problems: readonly {
    readonly name: string;
    readonly value: string;
    readonly expected: string;
  }[];
}

/** Of these agents, with what their task files allow them beside the settings. */
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

/** What `--allow`, settings and task files let agents reach beside their models. */
function describeAllowed(words: readonly string[]): string[] {
  const shown = words.flatMap((word) => {
    const preset = Object.hasOwn(presets, word) ? presets[word] : undefined;
    if (preset) return [`${word} (${preset.opens})`];
    return parseAllow([word]).hosts.map(({ host, port }) => `${host}:${port}`);
  });
  return shown.length === 0 ? [] : [`the gateway lets out, beside models: ${[...new Set(shown)].join(", ")}`];
}

/** How sandboxes come to the gateway. */
export function roadWords(road: "socket" | "network"): string {
  return road === "socket"
    ? "sandboxes have no network, and reach the gateway through a socket"
    : "each sandbox has a network of its own, in which there is the gateway and nothing else";
}
