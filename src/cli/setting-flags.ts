import { presets } from "../domain/egress.ts";
import { endpointForm, registryForm } from "../domain/endpoint-words.ts";
import { SwarmError } from "../domain/errors.ts";
import type { SettingsFile } from "../domain/settings.ts";
import { numberOrText } from "../domain/settings-environment.ts";
import type { CommandOptions, Flag } from "./command.ts";

/** Flags that override settings of workers for one command. */
export const settingFlags: readonly Flag[] = [
  [
    "--agent <kind>",
    "the coding agent of tasks that name none: claude, acp, command, script; its program follows after --",
  ],
  ["--parallel <n>", "workers at once; auto: as many as the engine's host holds"],
  ["--isolation <level>", "the least isolation that is accepted: auto, shared-kernel, userns, strong"],
  [
    "--network <name>",
    "the network of the sandboxes: gateway (default), none, or unfiltered: bridge, or one that the engine has",
  ],
  [
    "--allow <host>",
    `hosts that agents may reach beside their models: host:port, or ${Object.keys(presets).join(", ")}; any number of them`,
    "many",
  ],
  [
    "--escalate <change>",
    "a change for the second attempt: model=NAME; given again, for the third, and so on",
    "many",
  ],
  ["--prove", "check each result again in a fresh sandbox before it counts; `--then merge` does, too"],
  ["--budget-usd <amount>", "the most that the whole swarm may cost, in US dollars"],
  ["--budget-tokens <n>", "the most tokens that the whole swarm may spend"],
  ["--budget-time <duration>", "the longest that the whole swarm may take, for example 2h"],
  ["--worker-budget-usd <amount>", "the most that one worker may cost, in US dollars"],
  ["--worker-budget-tokens <n>", "the most tokens that one worker may spend"],
  [
    "--credential <provider=reference>",
    "where a secret is: anthropic, openai or google, = and env:NAME, file:/path or cmd:program; any number of them",
    "many",
  ],
  ["--model-endpoint <words>", `another model's address: ${endpointForm}; any number of them`, "many"],
  [
    "--registry <words>",
    `a registry of your own behind a preset: ${registryForm}; any number of them`,
    "many",
  ],
];

export const engineFlag: Flag = [
  "--engine <endpoint>",
  "the container engine to use, for example unix:///var/run/docker.sock",
];

/** Flags that decide how the owner treats failed workers. */
export const failureFlags: readonly Flag[] = [
  ["--max-attempts <n>", "how often a worker that fails is tried in all (default 1)"],
  ["--fail-fast", "end the swarm at the first failure"],
];

/** Former names of flags, which still work. */
export const oldStartFlags: readonly Flag[] = [
  ["--file <path>", "a task file", "old"],
  ["--files <paths>", "task files, by commas", "old"],
  ["--max <n>", "--parallel", "old"],
];

/** Flags that are not named after their setting, by the setting's JSON pointer. */
const flagByPointer: Readonly<Record<string, string>> = {
  "/budgetUsd": "--worker-budget-usd",
  "/budgetTokens": "--worker-budget-tokens",
  "/swarmBudgetUsd": "--budget-usd",
  "/swarmBudgetTokens": "--budget-tokens",
  "/swarmBudgetTime": "--budget-time",
  "/modelEndpoints": "--model-endpoint",
  "/registries": "--registry",
};

/** Returns the flag that sets the setting at this JSON pointer. */
export function flagOf(pointer: string): string {
  const [, group = ""] = pointer.split("/");
  if (group === "agentCommand") return "the program after --";
  if (group === "credentials") return `--credential ${pointer.split("/").at(-1)}`;
  return flagByPointer[`/${group}`] ?? `--${group}`;
}

/** Converts flags, and the words of the agent's program, into settings. */
export function flagSettings(options: CommandOptions, program: readonly string[]): SettingsFile {
  const { agent, parallel, max, isolation, network, engine, allow, escalate } = options;
  if (program.length > 0 && agent === "claude")
    throw new SwarmError("USAGE", { message: "--agent claude takes no program after --" });
  const flags: Record<string, unknown> = {
    ...{ agent, isolation, network, engine, allow, escalate, parallel: toCount(parallel ?? max) },
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
 * Parses words such as `anthropic=file:…` into references by provider. A malformed word gets an unknown
 * provider, which the validation then reports.
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
  return typeof text === "string" ? numberOrText(text) : text;
}

/** Converts digits into a number. Other text stays unchanged, so that the validation can quote it. */
function toCount(text: CommandOptions[string]): unknown {
  return typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text;
}
