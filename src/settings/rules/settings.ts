import type { PriceSetting, SettingsFile } from "../../contract/config.ts";
import { isolationLevels } from "../../engine/rules/isolation.ts";
import { parseDurationMs, parseSizeBytes } from "../../text/duration-and-size.ts";

export type { SettingsFile };

/** The places from which a setting's value can come, in order of precedence, the highest first. */
const settingOrigins = ["flag", "environment", "project", "user", "default"] as const;
type SettingOrigin = (typeof settingOrigins)[number];

/**
 * The settings that apply after all sources are combined. Each name is a path of fields in
 * `schemas/config.schema.json`.
 */
export interface Settings {
  readonly agent: NonNullable<SettingsFile["agent"]>;
  /** The command that starts the agent: a program with its arguments, or the path of the agent's script. */
  readonly agentCommand: readonly string[];
  readonly parallel: number | "auto";
  readonly isolation: NonNullable<SettingsFile["isolation"]>;
  readonly "limits.cpus": number;
  readonly "limits.memory": string;
  readonly "limits.disk": string;
  readonly "limits.swap": string;
  readonly "limits.pids": number;
  readonly "limits.programs32Bit": boolean;
  /**
   * The limits on a worker's commits: the number of files, the total size of the files, and the size of each
   * file.
   */
  readonly "work.files": number;
  readonly "work.size": string;
  readonly "work.fileSize": string;
  readonly "images.python": string;
  readonly "images.node": string;
  readonly "images.bash": string;
  readonly timeout: string;
  readonly verify: readonly string[];
  /**
   * Changes of settings for the retries of a failed worker. The first entry applies to the second attempt,
   * the second entry to the third attempt.
   */
  readonly escalate: readonly string[];
  /** Whether swarm checks the workers' results again in fresh sandboxes. */
  readonly prove: boolean;
  /** The budgets of one worker; the names that begin with `swarm` are budgets of the whole swarm. */
  readonly budgetUsd: number | null;
  readonly budgetTokens: number | null;
  readonly swarmBudgetUsd: number | null;
  readonly swarmBudgetTokens: number | null;
  readonly swarmBudgetTime: string | null;
  readonly allow: readonly string[];
  readonly modelEndpoints: readonly string[];
  readonly registries: readonly string[];
  /**
   * References to secrets, such as the name of an environment variable. The settings never contain the
   * secrets themselves.
   */
  readonly "credentials.anthropic": string | null;
  readonly "credentials.openai": string | null;
  readonly "credentials.google": string | null;
  readonly prices: readonly PriceSetting[];
  readonly network: string;
  readonly engine: string | null;
}

export type SettingName = keyof Settings;

const defaults: Settings = {
  agent: "claude",
  agentCommand: [],
  parallel: "auto",
  isolation: "auto",
  "limits.cpus": 2,
  "limits.memory": "4g",
  "limits.disk": "8g",
  "limits.swap": "0k",
  "limits.pids": 512,
  "limits.programs32Bit": false,
  "work.files": 50_000,
  "work.size": "1g",
  "work.fileSize": "500m",
  "images.python": "python:3.12-slim",
  "images.node": "node:24-slim",
  "images.bash": "ubuntu:24.04",
  timeout: "6h",
  verify: [],
  prove: false,
  escalate: [],
  budgetUsd: null,
  budgetTokens: null,
  swarmBudgetUsd: null,
  swarmBudgetTokens: null,
  swarmBudgetTime: null,
  allow: [],
  modelEndpoints: [],
  registries: [],
  "credentials.anthropic": null,
  "credentials.openai": null,
  "credentials.google": null,
  prices: [],
  network: "gateway",
  engine: null,
};

const settingNames: readonly SettingName[] = Object.keys(defaults) as SettingName[];

type SettingSources = Readonly<Record<Exclude<SettingOrigin, "default">, SettingsFile>>;

/**
 * A setting's value with its origin. If swarm ignored a value because the user does not trust the project,
 * `untrusted` says why the value needs trust.
 */
export interface ExplainedSetting<Name extends SettingName = SettingName> {
  readonly name: Name;
  readonly value: Settings[Name];
  readonly origin: SettingOrigin;
  readonly untrusted: string | null;
}

/**
 * Determines the value of every setting. Precedence: flags, environment, project file, user file, defaults. A
 * project file that the user does not trust can only restrict what agents may do.
 */
export function explainSettings(
  sources: SettingSources,
  { projectTrusted }: { projectTrusted: boolean },
): ExplainedSetting[] {
  return settingNames.map((name) => explainSetting(name, sources, projectTrusted));
}

/** Returns the settings' values without their origins. */
export function settingsWithoutOrigins(explained: readonly ExplainedSetting[]): Settings {
  return Object.fromEntries(explained.map(({ name, value }) => [name, value])) as unknown as Settings;
}

function explainSetting(
  name: SettingName,
  sources: SettingSources,
  projectTrusted: boolean,
): ExplainedSetting {
  const below = settingIn(sources.user, name) ?? defaults[name];
  const fromProject = settingIn(sources.project, name);
  const untrusted =
    fromProject !== undefined && !projectTrusted ? wideningOf(name, fromProject, below) : null;
  const candidates: [SettingOrigin, unknown][] = [
    ["flag", settingIn(sources.flag, name)],
    ["environment", settingIn(sources.environment, name)],
    ["project", untrusted === null ? fromProject : undefined],
    ["user", settingIn(sources.user, name)],
  ];
  const [origin, value] = candidates.find(([, candidate]) => candidate !== undefined) ?? [
    "default",
    defaults[name],
  ];
  return { name, value: value as Settings[typeof name], origin, untrusted };
}

function settingIn(file: SettingsFile, name: SettingName): unknown {
  const [group, field] = name.split(".");
  const value: unknown = file[group as keyof SettingsFile];
  if (field === undefined) return value;
  return value === undefined ? undefined : (value as Record<string, unknown>)[field];
}

/** Returns why a project's value of this setting needs the user's trust; null if the value needs no trust. */
function wideningOf(name: SettingName, value: unknown, below: unknown): string | null {
  const raises = (what: string, amountOf: (value: unknown) => number): string | null =>
    below !== null && amountOf(value) > amountOf(below) ? `raises ${what}` : null;
  switch (name) {
    case "agent":
    case "agentCommand":
    case "parallel":
    case "verify":
    case "escalate":
      return null;
    case "prove":
      return below === true && value === false ? "turns off the proof of results" : null;
    case "allow":
      return "lets the agent connect to more hosts";
    case "modelEndpoints":
      return "chooses the addresses of the model APIs";
    case "registries":
      return "chooses the package registries";
    case "credentials.anthropic":
    case "credentials.openai":
    case "credentials.google":
      return "chooses which of the user's secrets swarm sends to a model API";
    case "prices":
      return "overrides a model's price per million tokens";
    case "network":
      return value === below || openness(value) < openness(below)
        ? null
        : "gives agents a less restricted network";
    case "engine":
      return "chooses the engine that runs the containers";
    case "images.python":
    case "images.node":
    case "images.bash":
      return "chooses the image of sandboxes";
    case "isolation":
      return rank(value) < rank(below) ? "lowers the required isolation" : null;
    case "limits.cpus":
    case "limits.pids":
    case "work.files":
      return raises("a limit", Number);
    case "limits.programs32Bit":
      return value === true && below !== true ? "lets programs open sockets of every address family" : null;
    case "limits.memory":
    case "limits.swap":
    case "limits.disk":
    case "work.size":
    case "work.fileSize":
      return raises("a limit", (size) => parseSizeBytes(String(size)) ?? 0);
    case "timeout":
      return raises("a limit", durationOf);
    case "swarmBudgetTime":
      return raises("the budget", durationOf);
    case "budgetUsd":
    case "budgetTokens":
    case "swarmBudgetUsd":
    case "swarmBudgetTokens":
      return raises("the budget", Number);
  }
}

function durationOf(value: unknown): number {
  return parseDurationMs(String(value)) ?? 0;
}

/**
 * Ranks a value of the setting `network` by the traffic that it allows: `none` is lowest, then `gateway`,
 * which allows only listed hosts, then every other network.
 */
function openness(network: unknown): number {
  return network === "none" ? 0 : network === "gateway" ? 1 : 2;
}

/**
 * Ranks a value of the setting `isolation` by its strength. `auto` ranks lowest, because it accepts even the
 * weakest isolation.
 */
function rank(isolation: unknown): number {
  return isolationLevels.indexOf(isolation as (typeof isolationLevels)[number]);
}
