import { parseDurationMs, parseSizeBytes } from "./duration.ts";
import type { PriceSetting, SettingsFile } from "./generated/config.ts";
import { isolationLevels } from "./isolation.ts";

export type { SettingsFile };

/** The origins of a value, strongest first. */
export const settingOrigins = ["flag", "environment", "project", "user", "default"] as const;
export type SettingOrigin = (typeof settingOrigins)[number];

/** The settings as the program uses them; every name is a path into `schemas/config.schema.json`. */
export interface Settings {
  readonly agent: NonNullable<SettingsFile["agent"]>;
  /** The agent's program and arguments, or the path of its script. */
  readonly agentCommand: readonly string[];
  readonly parallel: number | "auto";
  readonly isolation: NonNullable<SettingsFile["isolation"]>;
  readonly "limits.cpus": number;
  readonly "limits.memory": string;
  readonly "limits.disk": string;
  readonly "limits.swap": string;
  readonly "limits.pids": number;
  readonly "limits.programs32Bit": boolean;
  /** The limits of a task's commits: the number of files, their total size, and the size of each. */
  readonly "work.files": number;
  readonly "work.size": string;
  readonly "work.fileSize": string;
  readonly "images.python": string;
  readonly "images.node": string;
  readonly "images.bash": string;
  readonly timeout: string;
  readonly verify: readonly string[];
  /** The changes for later attempts: one word for each, from the second on. */
  readonly escalate: readonly string[];
  /** Whether results are checked again in fresh sandboxes. */
  readonly prove: boolean;
  /** Budgets of one worker; the names of a whole swarm's begin with `swarm`. */
  readonly budgetUsd: number | null;
  readonly budgetTokens: number | null;
  readonly swarmBudgetUsd: number | null;
  readonly swarmBudgetTokens: number | null;
  readonly swarmBudgetTime: string | null;
  readonly allow: readonly string[];
  readonly modelEndpoints: readonly string[];
  readonly registries: readonly string[];
  /** References to secrets, never the secrets. */
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

/** A setting with its origin, and why the project file's value was ignored if that file is not trusted. */
export interface ExplainedSetting<Name extends SettingName = SettingName> {
  readonly name: Name;
  readonly value: Settings[Name];
  readonly origin: SettingOrigin;
  readonly untrusted: string | null;
}

/** Resolves settings: flags before environment, project, user and defaults. An untrusted project can only narrow. */
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
      return "lets the agent connect to more hosts";
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

/** The rank of a network: the gateway passes only allowed traffic; all other networks count as equally open. */
function openness(network: unknown): number {
  return network === "none" ? 0 : network === "gateway" ? 1 : 2;
}

/** The rank of an isolation; `auto` ranks below all, since it accepts the weakest. */
function rank(isolation: unknown): number {
  return isolationLevels.indexOf(isolation as (typeof isolationLevels)[number]);
}
