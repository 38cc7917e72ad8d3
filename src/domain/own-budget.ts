/** The settings that limit the spending of a worker or a swarm, each with its environment variable. */
const budgets: readonly (readonly [setting: string, variable: string])[] = [
  ["swarmBudgetUsd", "SWARM_BUDGET_USD"],
  ["swarmBudgetTokens", "SWARM_BUDGET_TOKENS"],
  ["budgetUsd", "SWARM_WORKER_BUDGET_USD"],
  ["budgetTokens", "SWARM_WORKER_BUDGET_TOKENS"],
];

/** Whether the settings limit spending. A value that is not an amount sets no limit. */
export function hasBudget(settings: unknown): boolean {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return false;
  return budgets.some(([setting]) => {
    const amount: unknown = Object.hasOwn(settings, setting) ? Reflect.get(settings, setting) : null;
    return typeof amount === "number" && Number.isFinite(amount) && amount > 0;
  });
}

/**
 * Finds a set environment variable that overrides the budget in the user's settings file; null if none is
 * set. The variable may come from the project.
 */
export function budgetVariable(env: Readonly<Record<string, string | undefined>>): string | null {
  return budgets.find(([, variable]) => env[variable])?.[1] ?? null;
}
