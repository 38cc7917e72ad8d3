import { cleanText } from "./clean-text.ts";
import type { ModelApi } from "./endpoint-words.ts";
import { needsNetwork } from "./worker-network.ts";

/** An agent as a task file, the settings or a request name it. */
export interface NamedAgent {
  readonly kind: string;
  readonly command?: readonly string[];
  /** Variables that a trusted task file sets for it. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A model provider: the variables with an agent's credentials and with the provider's address. */
export interface Provider {
  readonly name: ModelApi;
  /** The variable with the base URL of its API; one of the companions. */
  readonly address: string;
  /** Variables with a credential, in the agents' own order of preference; the first one that is set is handed over. */
  readonly secrets: readonly string[];
  /** Variables without a secret, handed over together with one. */
  readonly companions: readonly string[];
  /** Variables that a trusted task file may set in place of a secret. */
  readonly instead?: readonly string[];
}

interface KnownAgent {
  readonly providers: readonly Provider[];
  /** Its name in `agentPackages`. */
  readonly inImage: string;
}

const anthropic: Provider = {
  ...{ name: "anthropic", address: "ANTHROPIC_BASE_URL" },
  secrets: ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
  companions: ["ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"],
  instead: ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"],
};
const openai: Provider = {
  ...{ name: "openai", address: "OPENAI_BASE_URL" },
  ...{ secrets: ["CODEX_API_KEY", "OPENAI_API_KEY"], companions: ["OPENAI_BASE_URL"] },
};
const google: Provider = {
  ...{ name: "google", address: "GOOGLE_GEMINI_BASE_URL" },
  secrets: ["GEMINI_API_KEY"],
  companions: ["GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_TRUST_WORKSPACE"],
};

const claude: KnownAgent = { providers: [anthropic], inImage: "claude" };

/** Programs that speak the Agent Client Protocol, by bare name: a path could name any program. */
const acpPrograms: Readonly<Record<string, KnownAgent>> = {
  "claude-agent-acp": { providers: [anthropic], inImage: "claude-acp" },
  "codex-acp": { providers: [openai], inImage: "codex-acp" },
  gemini: { providers: [google], inImage: "gemini" },
  opencode: {
    providers: [
      { ...anthropic, secrets: ["ANTHROPIC_API_KEY"] },
      { ...openai, secrets: ["OPENAI_API_KEY"] },
      google,
    ],
    inImage: "opencode",
  },
};

/** The variables of the user's environment that an agent receives, by name. */
export interface AgentAccess {
  readonly agent: string;
  readonly variables: readonly string[];
  /** The variables of which the agent needs one, if none is set. */
  readonly missing: readonly string[];
}

/**
 * The variables of the user's environment that an agent receives; null for agents that call no model. Variables that the
 * tables above do not name are never handed over. An agent whose task file sets a secret for it receives none.
 */
export function accessOf(agent: NamedAgent, isSet: (name: string) => boolean): AgentAccess | null {
  if (!needsNetwork(agent.kind)) return null;
  const name = agentName(agent);
  const providers = providersOf(agent);
  const variables = providers.flatMap(({ secrets, companions }) => {
    const secret = secrets.find(isSet);
    return secret === undefined ? [] : [secret, ...companions.filter(isSet)];
  });
  const missing = variables.length > 0 ? [] : providers.flatMap(({ secrets }) => secrets);
  return { agent: name, variables, missing };
}

/** The providers that an agent calls with the user's credentials; none where its task file sets credentials. */
export function providersOf(agent: NamedAgent): readonly Provider[] {
  if (!needsNetwork(agent.kind)) return [];
  const providers = knownAgent(agent)?.providers ?? [];
  const own = providers.flatMap(({ secrets, instead = [] }) => [...secrets, ...instead]);
  return own.some((variable) => agent.env?.[variable]) ? [] : providers;
}

/** The name of an agent in messages. An agent of kind `acp` shows its program, too, which says more than the kind. */
export function agentName({ kind, command }: NamedAgent): string {
  const program = kind === "acp" ? command?.[0] : undefined;
  return program === undefined ? kind : `${kind} ${cleanText(program, 100)}`;
}

/** The access of all agents, without duplicates. */
export function accessesOf(agents: readonly NamedAgent[], isSet: (name: string) => boolean): AgentAccess[] {
  const accesses = agents.flatMap((agent) => accessOf(agent, isSet) ?? []);
  return [...new Map(accesses.map((access) => [JSON.stringify(access), access])).values()];
}

/** The variables with their values; null where there are none. */
export function credentialsOf(
  agent: NamedAgent,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> | null {
  const variables = accessOf(agent, (name) => Boolean(env[name]))?.variables ?? [];
  const entries = variables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

/** The key in `agentPackages` of what the agent needs in the base image; null for a program that swarm does not know. */
export function imageAgentOf(agent: NamedAgent): string | null {
  return knownAgent(agent)?.inImage ?? null;
}

/** Describes what an agent receives, for the user to read before anything starts. */
export function describeCredentials({ agent, variables }: Pick<AgentAccess, "agent" | "variables">): string {
  if (variables.length === 0)
    return `${agent}: nothing of this environment goes into it; a trusted task file can set agent.env`;
  const goes = variables.length === 1 ? "goes" : "go";
  return `${agent}: ${variables.join(", ")} ${goes} into the agent's own environment inside its sandbox (memory only); the agent can read ${variables.length === 1 ? "it" : "them"}`;
}

function knownAgent({ kind, command }: NamedAgent): KnownAgent | undefined {
  if (kind === "claude") return claude;
  const program = kind === "acp" ? (command?.[0] ?? "") : "";
  return Object.hasOwn(acpPrograms, program) ? acpPrograms[program] : undefined;
}
