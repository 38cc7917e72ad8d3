import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../machine/read-small-file.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { findSwarm, findWorktree } from "./find-swarm.ts";
import { type SessionFolders, whyFileChangeable } from "./installation-check.ts";
import type { CommandSpendingKind } from "./rules/approved-commands.ts";
import { findBudgetVariable, hasBudgetSetting } from "./rules/budget-settings.ts";

/** The places from which the hook reads the user's budget settings. */
export interface BudgetSources {
  /** The path of the folder with the user's settings. */
  readonly configFolder: string;
  readonly env: EnvironmentVariables;
}

const maxSettingsBytes = 1024 * 1024;

/**
 * Returns why a command could spend money without a limit that the user set; null if the user's settings file
 * sets a limit. Budgets from other sources do not count, because an agent or the project may have set them.
 */
export function whySpendingUnlimited(
  spends: CommandSpendingKind,
  { configFolder, env }: BudgetSources,
  place: SessionFolders,
): string | null {
  const file = join(configFolder, "config.json");
  const wanted = `set swarmBudgetUsd in ${file}, so that Claude Code runs such commands without asking you`;
  if (!existsSync(file)) return `the command spends money, and you have set no budget: ${wanted}`;
  const changeable = whyFileChangeable(file, place);
  if (changeable !== null)
    return `the command spends money, and ${changeable}, so the agent or another user may have changed the budget in your settings file`;
  const settings = parse(readSmallFile(realpathSync(file), maxSettingsBytes));
  if (!hasBudgetSetting(settings)) return `the command spends money, and you have set no budget: ${wanted}`;
  const variable = findBudgetVariable(env);
  if (variable !== null)
    return `the command spends money, and the environment variable ${variable} overrides the budget in ${file}`;
  return whyBegunWithout(spends, place.cwd);
}

/**
 * Returns why the hook must not approve a spending command: the worktree's existing swarm was started without
 * a budget, or its state cannot be read. Null otherwise; a budget that the user sets later does not limit
 * this swarm.
 */
function whyBegunWithout(spends: CommandSpendingKind, cwd: string): string | null {
  const root = findWorktree(cwd);
  if (root === null || !existsSync(join(root, ".aimi", "swarm-state.json"))) return null;
  const found = findSwarm(cwd);
  if (found === null) return "the command spends money, and the state of the existing swarm cannot be read";
  // If the existing swarm has finished, `start` begins a new one with the current settings.
  if (spends === "begins" && found.swarm.containers.every(({ status }) => isTerminalStatus(status)))
    return null;
  const file = join(found.gitFolder, "aimi", "requests", found.swarm.swarmId, "settings");
  if (!existsSync(file) || hasBudgetSetting(parse(readSmallFile(file, maxSettingsBytes)))) return null;
  return "the command spends money, and the existing swarm was started without a budget";
}

/** Parses JSON from a settings file. Returns null for invalid JSON, which sets no budget. */
function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}
