import { type ExplainedSetting, type Settings, settingsOf } from "./settings.ts";

/**
 * The settings that a swarm keeps from its start. It does not keep references to credentials: `resume` uses the current
 * ones, as it uses the current environment, since a credential may have expired.
 */
const recordedNames = [
  "agent",
  "agentCommand",
  "network",
  "isolation",
  "parallel",
  "timeout",
  "verify",
  "prove",
  "escalate",
  "budgetUsd",
  "budgetTokens",
  "swarmBudgetUsd",
  "swarmBudgetTokens",
  "swarmBudgetTime",
  "allow",
  "modelEndpoints",
  "registries",
  "prices",
] as const;

export type RecordedSettings = Partial<Pick<Settings, (typeof recordedNames)[number]>>;

/** The part of the settings that holds for a swarm until its end. */
export function recordable(settings: Settings): RecordedSettings {
  return Object.fromEntries(recordedNames.map((name) => [name, settings[name]]));
}

/** The settings for continuing a swarm: the recorded ones, unless a flag now overrides them. */
export function withRecorded(
  explained: readonly ExplainedSetting[],
  recorded: RecordedSettings | null,
): Settings {
  const flags = new Set(explained.filter(({ origin }) => origin === "flag").map(({ name }) => name));
  // A recorded agentCommand belongs to the recorded agent.
  if (flags.has("agent")) flags.add("agentCommand");
  const held = Object.entries(recorded ?? {}).filter(([name]) => !flags.has(name as keyof Settings));
  return { ...settingsOf(explained), ...Object.fromEntries(held) };
}
