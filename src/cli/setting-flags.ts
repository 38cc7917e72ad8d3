import { SwarmError } from "../domain/errors.ts";
import type { SettingsFile } from "../domain/settings.ts";
import type { CommandOptions, Flag } from "./command.ts";

/** The flags that are settings of workers. */
export const settingFlags: readonly Flag[] = [
  [
    "--agent <kind>",
    "the coding agent of tasks that name none: claude, acp, command, script; its program follows after --",
  ],
  ["--parallel <n>", "workers at once, or auto"],
  ["--isolation <level>", "the least isolation that is accepted: auto, shared-kernel, userns, strong"],
  ["--network <name>", "the network of the sandboxes, unfiltered: none, bridge, or one that the engine has"],
];

export const engineFlag: Flag = [
  "--engine <endpoint>",
  "the container engine to use, for example unix:///var/run/docker.sock",
];

/** How an owner goes about failures. */
export const policyFlags: readonly Flag[] = [
  ["--max-attempts <n>", "how often a worker that fails is tried in all (default 1)"],
  ["--fail-fast", "end the swarm at the first failure"],
];

/** As it was typed before. */
export const oldStartFlags: readonly Flag[] = [
  ["--file <path>", "a task file", "old"],
  ["--files <paths>", "task files, by commas", "old"],
  ["--max <n>", "--parallel", "old"],
];

/** The settings that flags carry, and the words of the agent's program. */
export function flagSettings(
  { agent, parallel, max, isolation, network, engine }: CommandOptions,
  program: readonly string[],
): SettingsFile {
  if (program.length > 0 && agent === "claude")
    throw new SwarmError("USAGE", { message: "--agent claude takes no program after --" });
  const flags: Record<string, unknown> = {
    ...{ agent, isolation, network, engine, parallel: toCount(parallel ?? max) },
    agentCommand: program.length > 0 ? program : undefined,
  };
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

/** A number where it is one; else as typed, for the check to name. */
function toCount(text: CommandOptions[string]): unknown {
  return typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text;
}
