import { write } from "../git/repository.ts";

/** The environment of a user whose own settings set a budget. */
export function userWithBudget(folder: string): Record<string, string> {
  write(folder, "user-config/aimi/config.json", '{ "swarmBudgetUsd": 5 }');
  return { XDG_CONFIG_HOME: `${folder}/user-config` };
}
