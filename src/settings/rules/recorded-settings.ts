import { type ExplainedSetting, type Settings, settingsWithoutOrigins } from "./settings.ts";

/**
 * The names of the settings that a swarm records at its start and uses until its end. References to
 * credentials are not recorded, because a credential may have expired before `swarm resume`.
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

type RecordableSettings = Pick<Settings, (typeof recordedNames)[number]>;
export type RecordedSettings = Partial<RecordableSettings>;

/** Returns only those settings that a swarm records at its start and uses until its end. */
export function pickRecordedSettings(settings: RecordableSettings): RecordedSettings {
  return Object.fromEntries(recordedNames.map((name) => [name, settings[name]]));
}

/**
 * Returns the settings with which a swarm continues: those recorded at its start, overridden by the flags of
 * the current command.
 */
export function applyRecordedSettings(
  explained: readonly ExplainedSetting[],
  recorded: RecordedSettings | null,
): Settings {
  const flags = new Set(explained.filter(({ origin }) => origin === "flag").map(({ name }) => name));
  // The recorded `agentCommand` belongs to the recorded agent, so a new `--agent` discards both.
  if (flags.has("agent")) flags.add("agentCommand");
  const held = Object.entries(recorded ?? {}).filter(([name]) => !flags.has(name as keyof Settings));
  return { ...settingsWithoutOrigins(explained), ...Object.fromEntries(held) };
}
