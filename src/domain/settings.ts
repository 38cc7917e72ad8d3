import { parseDurationMs, parseSizeBytes } from "./duration.ts";
import type { PriceSetting, SettingsFile } from "./generated/config.ts";
import { isolationLevels } from "./isolation.ts";

export type { SettingsFile };

/** Where a value came from, strongest first. */
export const settingOrigins = ["flag", "environment", "project", "user", "default"] as const;
export type SettingOrigin = (typeof settingOrigins)[number];

/** The settings as the program uses them; every name is a path into `schemas/config.schema.json`. */
export interface Settings {
  readonly agent: NonNullable<SettingsFile["agent"]>;
  /** Its program and arguments, or the path of its script. */
  readonly agentCommand: readonly string[];
  readonly parallel: number | "auto";
  readonly isolation: NonNullable<SettingsFile["isolation"]>;
  readonly "limits.cpus": number;
  readonly "limits.memory": string;
  readonly "limits.disk": string;
  readonly "limits.swap": string;
  readonly "limits.pids": number;
  readonly "limits.programs32Bit": boolean;
  /** What one task may commit: how many files, and how large in all and each. */
  readonly "work.files": number;
  readonly "work.size": string;
  readonly "work.fileSize": string;
  readonly "images.python": string;
  readonly "images.node": string;
  readonly "images.bash": string;
  readonly timeout: string;
  readonly verify: readonly string[];
  /** What later attempts change: one word for each, from the second on. */
  readonly escalate: readonly string[];
  /** Whether results are checked again in fresh sandboxes. */
  readonly prove: boolean;
  /** Of one worker; those of a whole swarm are named after it. */
  readonly budgetUsd: number | null;
  readonly budgetTokens: number | null;
  readonly swarmBudgetUsd: number | null;
  readonly swarmBudgetTokens: number | null;
  readonly swarmBudgetTime: string | null;
  readonly allow: readonly string[];
  readonly modelEndpoints: readonly string[];
  readonly registries: readonly string[];
  /** Where the secrets are, never they themselves. */
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

export const settingNames: readonly SettingName[] = Object.keys(defaults) as SettingName[];

export type SettingSources = Readonly<Record<Exclude<SettingOrigin, "default">, SettingsFile>>;

/** One setting with its origin, and the value of an untrusted project file that was not taken. */
export interface ExplainedSetting<Name extends SettingName = SettingName> {
  readonly name: Name;
  readonly value: Settings[Name];
  readonly origin: SettingOrigin;
  readonly untrusted: string | null;
}

/** Flags before environment, project, user and defaults; an untrusted project cannot widen anything. */
export function explainSettings(
  sources: SettingSources,
  { projectTrusted }: { projectTrusted: boolean },
): ExplainedSetting[] {
  return settingNames.map((name) => explainSetting(name, sources, projectTrusted));
}

/** The values alone. */
export function settingsOf(explained: readonly ExplainedSetting[]): Settings {
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
    ["default", defaults[name]],
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

/** Why a project's value needs trust; null when it only narrows. */
function wideningOf(name: SettingName, value: unknown, below: unknown): string | null {
  switch (name) {
    case "agent":
    case "agentCommand":
    case "parallel":
    case "verify":
    case "escalate":
      return null;
    case "prove":
      return below === true && value === false ? "leaves results unproved" : null;
    case "allow":
      return "opens hosts to the agent";
    case "modelEndpoints":
      return "chooses where models are called";
    case "registries":
      return "chooses where packages come from";
    case "credentials.anthropic":
    case "credentials.openai":
    case "credentials.google":
      return "chooses a secret of yours";
    case "prices":
      return "changes what tokens cost";
    case "network":
      return value === below || openness(value) < openness(below) ? null : "opens a network to the agents";
    case "engine":
      return "chooses where containers run";
    case "images.python":
    case "images.node":
    case "images.bash":
      return "chooses an image";
    case "isolation":
      return rank(value) < rank(below) ? "asks for less isolation" : null;
    case "limits.cpus":
    case "limits.pids":
    case "work.files":
      return Number(value) > Number(below) ? "raises a limit" : null;
    case "limits.programs32Bit":
      return value === true && below !== true ? "opens sockets of every family" : null;
    case "limits.memory":
    case "limits.swap":
    case "limits.disk":
    case "work.size":
    case "work.fileSize":
      return (parseSizeBytes(String(value)) ?? 0) > (parseSizeBytes(String(below)) ?? 0)
        ? "raises a limit"
        : null;
    case "timeout":
      return (parseDurationMs(String(value)) ?? 0) > (parseDurationMs(String(below)) ?? 0)
        ? "raises a limit"
        : null;
    case "swarmBudgetTime":
      return below !== null && (parseDurationMs(String(value)) ?? 0) > (parseDurationMs(String(below)) ?? 0)
        ? "raises the budget"
        : null;
    case "budgetUsd":
    case "budgetTokens":
    case "swarmBudgetUsd":
    case "swarmBudgetTokens":
      return below !== null && Number(value) > Number(below) ? "raises the budget" : null;
  }
}

/** The gateway lets out what was allowed; of other networks nobody can say which one is the wider. */
function openness(network: unknown): number {
  return network === "none" ? 0 : network === "gateway" ? 1 : 2;
}

/** `auto` takes the best there is and is content with the weakest. */
function rank(isolation: unknown): number {
  return isolationLevels.indexOf(isolation as (typeof isolationLevels)[number]);
}
