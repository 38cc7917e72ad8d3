/**
 * The settings that limit how much a worker or a swarm may spend, each with the environment variable that
 * sets it.
 */
const budgets: readonly (readonly [setting: string, variable: string])[] = [
  ["swarmBudgetUsd", "SWARM_BUDGET_USD"],
  ["swarmBudgetTokens", "SWARM_BUDGET_TOKENS"],
  ["budgetUsd", "SWARM_WORKER_BUDGET_USD"],
  ["budgetTokens", "SWARM_WORKER_BUDGET_TOKENS"],
];

/** Whether the given settings contain a budget. A budget must be a positive number to count. */
export function hasBudgetSetting(settings: unknown): boolean {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return false;
  return budgets.some(([setting]) => {
    const amount: unknown = Object.hasOwn(settings, setting) ? Reflect.get(settings, setting) : null;
    return typeof amount === "number" && Number.isFinite(amount) && amount > 0;
  });
}

/**
 * Returns the name of a set environment variable that takes precedence over the budgets in the user's
 * settings file; null if none is set. The variable is not trusted, because the project may have set it.
 */
export function findBudgetVariable(env: Readonly<Record<string, string | undefined>>): string | null {
  return budgets.find(([, variable]) => env[variable])?.[1] ?? null;
}
