import type { ModelApi } from "../egress/parse-endpoint.ts";
import { needsModelApi } from "../egress/worker-network.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/**
 * An agent's kind, command and environment variables, as a task file, the settings or a task request specify
 * them.
 */
export interface AgentSpec {
  readonly kind: string;
  readonly command?: readonly string[];
  /** Environment variables that a trusted task file sets for the agent. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A model provider such as Anthropic, with the names of the environment variables that hold its credentials
 * and its address.
 */
export interface ModelProvider {
  readonly name: ModelApi;
  /**
   * The name of the variable with the base URL of the provider's API. An agent receives this variable only
   * together with a credential.
   */
  readonly address: string;
  /**
   * The names of variables with a credential, in the order in which the provider's agents prefer them. swarm
   * uses the first variable that is set.
   */
  readonly secretVariables: readonly string[];
  /**
   * The names of other variables without a secret. An agent receives these variables only together with a
   * credential.
   */
  readonly plainVariables: readonly string[];
  /**
   * The names of variables that a trusted task file may set instead of a credential, for example to use
   * Amazon Bedrock.
   */
  readonly alternativeVariables?: readonly string[];
}

interface KnownAgent {
  readonly providers: readonly ModelProvider[];
  /** The agent's key in `agentPackages`, the list of the agents' npm packages for the base image. */
  readonly inImage: string;
}

const anthropic: ModelProvider = {
  name: "anthropic",
  address: "ANTHROPIC_BASE_URL",
  secretVariables: ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
  plainVariables: ["ANTHROPIC_MODEL"],
  alternativeVariables: ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"],
};
const openai: ModelProvider = {
  name: "openai",
  address: "OPENAI_BASE_URL",
  secretVariables: ["CODEX_API_KEY", "OPENAI_API_KEY"],
  plainVariables: [],
};
const google: ModelProvider = {
  name: "google",
  address: "GOOGLE_GEMINI_BASE_URL",
  secretVariables: ["GEMINI_API_KEY"],
  plainVariables: ["GEMINI_CLI_TRUST_WORKSPACE"],
};

/**
 * Known agent programs that speak the Agent Client Protocol, by their names without a folder. A command with
 * a path never matches, because the path could hold any program.
 */
const acpPrograms: Readonly<Record<string, KnownAgent>> = {
  "claude-agent-acp": { providers: [anthropic], inImage: "claude-acp" },
  "codex-acp": { providers: [openai], inImage: "codex-acp" },
  gemini: { providers: [google], inImage: "gemini" },
  opencode: {
    providers: [
      { ...anthropic, secretVariables: ["ANTHROPIC_API_KEY"] },
      { ...openai, secretVariables: ["OPENAI_API_KEY"] },
      google,
    ],
    inImage: "opencode",
  },
};

/** The names of the environment variables that swarm passes from the user's environment to an agent. */
export interface AgentVariables {
  readonly agent: string;
  readonly variables: readonly string[];
  /**
   * The names of the credential variables of which the user must set one; empty if no credential is missing.
   */
  readonly missing: readonly string[];
}

/**
 * Finds the variables that swarm passes from the user's environment to an agent: only the variables of the
 * model providers that the agent calls. Returns null if the agent calls no model. If the task file sets a
 * credential for the agent, swarm passes no variables.
 */
export function findAgentVariables(
  agent: AgentSpec,
  isSet: (name: string) => boolean,
): AgentVariables | null {
  if (!needsModelApi(agent.kind)) return null;
  const providers = modelProvidersOf(agent);
  const variables = providers.flatMap(({ address, secretVariables, plainVariables }) => {
    const secret = secretVariables.find(isSet);
    return secret === undefined ? [] : [secret, ...[address, ...plainVariables].filter(isSet)];
  });
  const missing = variables.length > 0 ? [] : providers.flatMap(({ secretVariables }) => secretVariables);
  return { agent: agentDisplayName(agent), variables, missing };
}

/**
 * Returns the model providers that an agent calls with the user's credentials. The list is empty if the
 * agent's task file sets a credential.
 */
export function modelProvidersOf(agent: AgentSpec): readonly ModelProvider[] {
  if (!needsModelApi(agent.kind)) return [];
  const providers = knownAgent(agent)?.providers ?? [];
  const own = providers.flatMap(({ secretVariables, alternativeVariables = [] }) => [
    ...secretVariables,
    ...alternativeVariables,
  ]);
  return own.some((variable) => agent.env?.[variable]) ? [] : providers;
}

/** Returns an agent's name for messages. For an agent of the kind `acp`, the name includes its program. */
export function agentDisplayName({ kind, command }: AgentSpec): string {
  const program = kind === "acp" ? command?.[0] : undefined;
  return program === undefined ? kind : `${kind} ${sanitizeText(program, 100)}`;
}

/**
 * Returns, for each agent that calls a model, the names of the variables that the agent receives. Agents
 * with equal results are listed once.
 */
export function findVariablesOfAgents(
  agents: readonly AgentSpec[],
  isSet: (name: string) => boolean,
): AgentVariables[] {
  return eachOnce(agents.flatMap((agent) => findAgentVariables(agent, isSet) ?? []));
}

/** Returns the items without those that are equal to an earlier one. */
export function eachOnce<Item>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/**
 * Returns the names and values of the variables that an agent receives from `env`; null if there are none.
 */
export function agentVariableValues(
  agent: AgentSpec,
  env: Variables,
): Readonly<Record<string, string>> | null {
  const values = pickVariables(env, findAgentVariables(agent, (name) => Boolean(env[name]))?.variables ?? []);
  return Object.keys(values).length > 0 ? values : null;
}

/**
 * Returns the user's environment variables for an agent, such as the choice of a model, but no secrets and
 * no addresses.
 */
export function nonSecretVariablesOf(agent: AgentSpec, env: Variables): Readonly<Record<string, string>> {
  return pickVariables(
    env,
    modelProvidersOf(agent).flatMap(({ plainVariables }) => plainVariables),
  );
}

type Variables = Readonly<Record<string, string | undefined>>;

function pickVariables(env: Variables, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])));
}

/**
 * Returns the key of an agent's package in `agentPackages`; null if swarm does not know the agent's program.
 */
export function findAgentPackageKey(agent: AgentSpec): string | null {
  return knownAgent(agent)?.inImage ?? null;
}

/**
 * Describes which of the user's variables an agent receives. swarm shows this text to the user before any
 * worker starts.
 */
export function describeCredentials({
  agent,
  variables,
}: Pick<AgentVariables, "agent" | "variables">): string {
  if (variables.length === 0)
    return `${agent}: swarm passes no variable of this environment to the agent; a trusted task file can set agent.env`;
  const [go, them] = variables.length === 1 ? ["goes", "it"] : ["go", "them"];
  return `${agent}: ${variables.join(", ")} ${go} into the agent's own environment inside its sandbox (in memory only), where the agent can read ${them}`;
}

function knownAgent({ kind, command }: AgentSpec): KnownAgent | undefined {
  if (kind === "claude") return { providers: [anthropic], inImage: "claude" };
  const program = kind === "acp" ? (command?.[0] ?? "") : "";
  return Object.hasOwn(acpPrograms, program) ? acpPrograms[program] : undefined;
}
