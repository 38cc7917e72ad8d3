import { egressPresets } from "../../egress/allow-list.ts";
import { modelEndpointSyntax, packageRegistrySyntax } from "../../egress/parse-endpoint.ts";
import { usageError } from "../../errors/errors.ts";
import type { SettingsFile } from "../../settings/rules/settings.ts";
import { parseNumberOrText } from "../../settings/rules/settings-environment.ts";
import type { CommandOptions, Flag } from "./command.ts";

/** After a command with this flag, the user may give the program that acts as the agent, after `--`. */
export const agentFlag: Flag = [
  "--agent <kind>",
  "the coding agent of tasks that name no agent: claude, acp, command or script; the agent's program follows after --",
];

/** Flags that override the settings of workers in one command. */
export const settingFlags: readonly Flag[] = [
  agentFlag,
  [
    "--parallel <n>",
    "the maximum number of parallel workers; auto: as many as the engine's host has memory and CPUs for",
  ],
  ["--isolation <level>", "the minimum isolation of sandboxes: auto, shared-kernel, userns or strong"],
  [
    "--network <name>",
    "the network of the sandboxes: gateway (default), none, or an unfiltered network: bridge or the name of one of the engine's networks",
  ],
  [
    "--allow <host>",
    `a host that agents may reach in addition to their models: host:port, or ${Object.keys(egressPresets).join(", ")}; repeatable`,
    "many",
  ],
  [
    "--escalate <change>",
    "another model for the second attempt: model=NAME; give the flag again for the third attempt, and so on",
    "many",
  ],
  [
    "--prove",
    "check each result again in a fresh sandbox before accepting it; `--then merge` also does this",
  ],
  ["--budget-usd <amount>", "the maximum cost of the whole swarm, in US dollars"],
  ["--budget-tokens <n>", "the maximum number of tokens that the whole swarm may use"],
  ["--budget-time <duration>", "the maximum duration of the whole swarm, for example 2h"],
  ["--worker-budget-usd <amount>", "the maximum cost of one worker, in US dollars"],
  ["--worker-budget-tokens <n>", "the maximum number of tokens that one worker may use"],
  [
    "--credential <provider=reference>",
    "where swarm reads a model provider's secret: anthropic, openai or google, then =, then env:NAME, file:/path or cmd:program; repeatable",
    "many",
  ],
  ["--model-endpoint <words>", `the endpoint of another model: ${modelEndpointSyntax}; repeatable`, "many"],
  [
    "--registry <words>",
    `your own package registry for a preset: ${packageRegistrySyntax}; repeatable`,
    "many",
  ],
];

export const engineFlag: Flag = [
  "--engine <endpoint>",
  "the container engine to use, for example unix:///var/run/docker.sock",
];

/** Flags that say how swarm treats workers that fail. */
export const failureHandlingFlags: readonly Flag[] = [
  ["--max-attempts <n>", "the maximum number of attempts of each worker, including the first (default 1)"],
  ["--fail-fast", "stop the swarm when the first worker fails"],
];

/** Former names of flags of `swarm start`, which still work. */
export const deprecatedStartFlags: readonly Flag[] = [
  ["--file <path>", "a task file", "old"],
  ["--files <paths>", "task files, separated by commas", "old"],
  ["--max <n>", "--parallel", "old"],
];

/** The flags whose name differs from their setting's name, by the setting's name. */
const flagByName: Readonly<Record<string, string>> = {
  budgetUsd: "--worker-budget-usd",
  budgetTokens: "--worker-budget-tokens",
  swarmBudgetUsd: "--budget-usd",
  swarmBudgetTokens: "--budget-tokens",
  swarmBudgetTime: "--budget-time",
  modelEndpoints: "--model-endpoint",
  registries: "--registry",
};

/** Returns the flag with which the user sets the setting at the given JSON pointer. */
export function flagForSetting(pointer: string): string {
  const [, name = ""] = pointer.split("/");
  if (name === "agentCommand") return "the agent's program after --";
  if (name === "credentials") return `--credential ${pointer.split("/").at(-1)}`;
  return flagByName[name] ?? `--${name}`;
}

/** Converts a command's flags, and the agent's program from the command line, into settings. */
export function settingsFromFlags(options: CommandOptions, program: readonly string[]): SettingsFile {
  const { agent, parallel, max, isolation, network, engine, allow, escalate } = options;
  if (program.length > 0 && agent === "claude")
    throw usageError("with --agent claude, no program may follow after --");
  const flags: Record<string, unknown> = {
    agent,
    isolation,
    network,
    engine,
    allow,
    escalate,
    parallel: toCount(parallel ?? max),
    agentCommand: program.length > 0 ? program : undefined,
    budgetUsd: toAmount(options["workerBudgetUsd"]),
    budgetTokens: toAmount(options["workerBudgetTokens"]),
    swarmBudgetUsd: toAmount(options["budgetUsd"]),
    swarmBudgetTokens: toAmount(options["budgetTokens"]),
    swarmBudgetTime: options["budgetTime"],
    // `--then merge` merges results without a user, so it requires proof of each result first.
    prove: options["prove"] === true || options["then"] === "merge" ? true : undefined,
    modelEndpoints: options["modelEndpoint"],
    registries: options["registry"],
    credentials: toReferences(options["credential"]),
  };
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

/**
 * Parses arguments such as `anthropic=file:…` into credential references by provider. Stores a malformed
 * argument under the key `…`, which the validation of settings then rejects.
 */
function toReferences(words: CommandOptions[string]): Record<string, string> | undefined {
  if (!Array.isArray(words)) return undefined;
  return Object.fromEntries(
    words.map((word: string) => {
      const [, provider = "…", reference = ""] = /^([a-z]{1,40})=(.*)$/s.exec(word) ?? [];
      return [provider, reference];
    }),
  );
}

function toAmount(text: CommandOptions[string]): unknown {
  return typeof text === "string" ? parseNumberOrText(text) : text;
}

/**
 * Converts a text of digits into a number. Returns any other text unchanged, so that the error message of the
 * settings' validation can quote it.
 */
function toCount(text: CommandOptions[string]): unknown {
  return typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text;
}
