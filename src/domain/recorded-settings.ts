import { type ExplainedSetting, type Settings, settingsOf } from "./settings.ts";

/**
 * What a swarm keeps of the settings that it was begun with. Not which credentials: like the environment they are those
 * of whoever goes on, since one that has run out by then must not hold.
 */
const kept = [
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

export type RecordedSettings = Partial<Pick<Settings, (typeof kept)[number]>>;

/** Of these settings, what holds for a swarm until its end. */
export function recordable(settings: Settings): RecordedSettings {
  return Object.fromEntries(kept.map((name) => [name, settings[name]]));
}

/** The settings for a swarm that was begun with others: those hold, unless a flag says otherwise now. */
export function withRecorded(
  explained: readonly ExplainedSetting[],
  recorded: RecordedSettings | null,
): Settings {
  const flags = new Set(explained.filter(({ origin }) => origin === "flag").map(({ name }) => name));
  // The words of an agent belong to the agent that is named.
  if (flags.has("agent")) flags.add("agentCommand");
  const held = Object.entries(recorded ?? {}).filter(([name]) => !flags.has(name as keyof Settings));
  return { ...settingsOf(explained), ...Object.fromEntries(held) };
}
