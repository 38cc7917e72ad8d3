import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { SpendingKind } from "../domain/approved-commands.ts";
import { isTerminal } from "../domain/container-status.ts";
import { budgetVariable, hasBudget } from "../domain/own-budget.ts";
import { readSmall } from "../state/read-small.ts";
import { findSwarm, findWorktree } from "./find-swarm.ts";
import { type SessionFolders, whyChangeable } from "./own-program.ts";

/** The locations of the user's own budget settings. */
export interface BudgetFolders {
  /** The folder of the user's settings. */
  readonly configFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const maxSettingsBytes = 1024 * 1024;

/**
 * The reason why a command would spend money without a limit by the user; null when the user's settings file sets a
 * budget. The project's files, the command line and the environment do not count: an agent or the project may have
 * written them.
 */
export function whyUnbudgeted(
  spends: SpendingKind,
  { configFolder, env }: BudgetFolders,
  place: SessionFolders,
): string | null {
  const file = join(configFolder, "config.json");
  const wanted = `set swarmBudgetUsd in ${file} to be asked no more`;
  if (!existsSync(file)) return `it spends money, and you have set no budget: ${wanted}`;
  const changeable = whyChangeable(file, place);
  if (changeable !== null)
    return `it spends money, and ${changeable}, so that a budget in it may not be yours`;
  const settings = parse(readSmall(realpathSync(file), maxSettingsBytes));
  if (!hasBudget(settings)) return `it spends money, and you have set no budget: ${wanted}`;
  const variable = budgetVariable(env);
  if (variable !== null) return `it spends money, and ${variable} counts before the budget in ${file}`;
  return whyBegunWithout(spends, place.cwd);
}

/** A swarm keeps its initial settings until its end, even those without a budget. */
function whyBegunWithout(spends: SpendingKind, cwd: string): string | null {
  const root = findWorktree(cwd);
  if (root === null || !existsSync(join(root, ".aimi", "swarm-state.json"))) return null;
  const found = findSwarm(cwd);
  if (found === null) return "it spends money, and its swarm cannot be read";
  // After a finished swarm, `start` begins a new one.
  if (spends === "begins" && found.swarm.containers.every(({ status }) => isTerminal(status))) return null;
  const file = join(found.gitFolder, "aimi", "requests", found.swarm.swarmId, "settings");
  if (!existsSync(file) || hasBudget(parse(readSmall(file, maxSettingsBytes)))) return null;
  return "it spends money, and its swarm was begun without a budget";
}

/** Null for invalid JSON, which sets no budget. */
function parse(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}
