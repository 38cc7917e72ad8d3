import type { SettingsFile } from "../../contract/config.ts";

/**
 * The environment variables with which the user can set a setting, each with the setting's JSON pointer and a
 * parser for the variable's text.
 */
const variables: readonly [name: string, pointer: string, read: (text: string) => unknown][] = [
  ["SWARM_AGENT", "/agent", String],
  ["SWARM_PARALLEL", "/parallel", parseNumberOrText],
  ["SWARM_ISOLATION", "/isolation", String],
  ["SWARM_TIMEOUT", "/timeout", String],
  ["SWARM_ESCALATE", "/escalate", (text) => listOf(text, /[\s,]+/)],
  ["SWARM_PROVE", "/prove", (text) => (text === "true" ? true : text === "false" ? false : text)],
  ["SWARM_WORKER_BUDGET_USD", "/budgetUsd", parseNumberOrText],
  ["SWARM_WORKER_BUDGET_TOKENS", "/budgetTokens", parseNumberOrText],
  ["SWARM_BUDGET_USD", "/swarmBudgetUsd", parseNumberOrText],
  ["SWARM_BUDGET_TOKENS", "/swarmBudgetTokens", parseNumberOrText],
  ["SWARM_BUDGET_TIME", "/swarmBudgetTime", String],
  ["SWARM_ALLOW", "/allow", (text) => listOf(text, /[\s,]+/)],
  // The values of the following variables contain commas and spaces, so `;` separates them.
  ["SWARM_MODEL_ENDPOINTS", "/modelEndpoints", (text) => listOf(text, ";")],
  ["SWARM_REGISTRIES", "/registries", (text) => listOf(text, ";")],
  ["SWARM_CREDENTIAL_ANTHROPIC", "/credentials/anthropic", String],
  ["SWARM_CREDENTIAL_OPENAI", "/credentials/openai", String],
  ["SWARM_CREDENTIAL_GOOGLE", "/credentials/google", String],
  ["SWARM_NETWORK", "/network", String],
  ["SWARM_ENGINE", "/engine", String],
  ["AIMI_SANDBOX_CPUS", "/limits/cpus", parseNumberOrText],
  ["AIMI_SANDBOX_MEMORY", "/limits/memory", String],
  ["AIMI_SANDBOX_DISK", "/limits/disk", String],
  ["AIMI_SANDBOX_SWAP", "/limits/swap", String],
];

/**
 * Reads settings from environment variables, without validation. `variableByPointer` maps each setting's JSON
 * pointer to the variable that set it.
 */
export function settingsFromEnvironment(env: Readonly<Record<string, string | undefined>>): {
  settings: SettingsFile;
  variableByPointer: ReadonlyMap<string, string>;
} {
  const settings: Record<string, unknown> = {};
  const variableByPointer = new Map<string, string>();
  for (const [name, pointer, read] of variables) {
    const text = env[name];
    if (!text) continue;
    variableByPointer.set(pointer, name);
    const [, group = "", field] = pointer.split("/");
    if (field === undefined) settings[group] = read(text);
    else settings[group] = { ...(settings[group] as object | undefined), [field]: read(text) };
  }
  return { settings: settings as SettingsFile, variableByPointer };
}

function listOf(text: string, separator: string | RegExp): string[] {
  return text
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/**
 * Converts a variable's text to a number. Returns any other text unchanged, so that the validation's message
 * can quote the text.
 */
export function parseNumberOrText(text: string): unknown {
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? text : value;
}
