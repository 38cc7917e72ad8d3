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

/** One company's models: how an agent is let in, and where it finds them. */
export interface Provider {
  readonly name: ModelApi;
  /** The companion that says where its models are. */
  readonly address: string;
  /** The first that is set is handed over, in the order in which the agents themselves prefer them. */
  readonly secrets: readonly string[];
  /** No secrets; handed over with one. */
  readonly companions: readonly string[];
  /** What a trusted task file may set in place of a secret. */
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

/** Programs that speak the Agent Client Protocol, by their bare names: a path may lead to anything. */
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

/** What an agent gets of the user's environment. Names only. */
export interface AgentAccess {
  readonly agent: string;
  readonly variables: readonly string[];
  /** One of these would be needed, and none is set. */
  readonly missing: readonly string[];
}

/**
 * Which variables of the user's environment go into an agent's own; null for agents that call no model. What is not named in
 * the tables above is never handed over, and nothing is to an agent whose task file brings a secret for it.
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

/** Whose models an agent calls with what lets the user in; none where its task file brings what lets it in. */
export function providersOf(agent: NamedAgent): readonly Provider[] {
  if (!needsNetwork(agent.kind)) return [];
  const providers = knownAgent(agent)?.providers ?? [];
  const own = providers.flatMap(({ secrets, instead = [] }) => [...secrets, ...instead]);
  return own.some((variable) => agent.env?.[variable]) ? [] : providers;
}

/** An agent of the protocol by its program, which says more than its kind. */
export function agentName({ kind, command }: NamedAgent): string {
  const program = kind === "acp" ? command?.[0] : undefined;
  return program === undefined ? kind : `${kind} ${cleanText(program, 100)}`;
}

/** Each once, however many tasks have it. */
export function accessesOf(agents: readonly NamedAgent[], isSet: (name: string) => boolean): AgentAccess[] {
  const accesses = agents.flatMap((agent) => accessOf(agent, isSet) ?? []);
  return [...new Map(accesses.map((access) => [JSON.stringify(access), access])).values()];
}

/** The variables themselves; null where there are none. */
export function credentialsOf(
  agent: NamedAgent,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> | null {
  const variables = accessOf(agent, (name) => Boolean(env[name]))?.variables ?? [];
  const entries = variables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

/** What must be in the base image for it, by its name in `agentPackages`; null where nobody knows. */
export function imageAgentOf(agent: NamedAgent): string | null {
  return knownAgent(agent)?.inImage ?? null;
}

/** Said before anything starts. */
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
