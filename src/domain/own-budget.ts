/** The settings that limit the spending of a worker or a swarm, each with its environment variable. */
const budgets: readonly (readonly [setting: string, variable: string])[] = [
  ["swarmBudgetUsd", "SWARM_BUDGET_USD"],
  ["swarmBudgetTokens", "SWARM_BUDGET_TOKENS"],
  ["budgetUsd", "SWARM_WORKER_BUDGET_USD"],
  ["budgetTokens", "SWARM_WORKER_BUDGET_TOKENS"],
];

/** Whether the settings contain at least one budget. A budget counts only if it is a positive number. */
export function hasBudgetSetting(settings: unknown): boolean {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return false;
  return budgets.some(([setting]) => {
    const amount: unknown = Object.hasOwn(settings, setting) ? Reflect.get(settings, setting) : null;
    return typeof amount === "number" && Number.isFinite(amount) && amount > 0;
  });
}

/**
 * Returns the name of an environment variable that overrides a budget in the user's settings file; null if no
 * such variable is set. The project, not the user, may have set the variable.
 */
export function findBudgetVariable(env: Readonly<Record<string, string | undefined>>): string | null {
  return budgets.find(([, variable]) => env[variable])?.[1] ?? null;
}
