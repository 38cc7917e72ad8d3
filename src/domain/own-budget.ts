/** The settings that limit the spending of one worker or of a swarm, with the variables that set them. */
const budgets: readonly (readonly [setting: string, variable: string])[] = [
  ["swarmBudgetUsd", "SWARM_BUDGET_USD"],
  ["swarmBudgetTokens", "SWARM_BUDGET_TOKENS"],
  ["budgetUsd", "SWARM_WORKER_BUDGET_USD"],
  ["budgetTokens", "SWARM_WORKER_BUDGET_TOKENS"],
];

/** Whether settings limit spending; a value that is no amount does not. */
export function hasBudget(settings: unknown): boolean {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return false;
  return budgets.some(([setting]) => {
    const amount: unknown = Object.hasOwn(settings, setting) ? Reflect.get(settings, setting) : null;
    return typeof amount === "number" && Number.isFinite(amount) && amount > 0;
  });
}

/** A variable that overrides the budget of the user's file, and may come from the project; null if none is set. */
export function budgetVariable(env: Readonly<Record<string, string | undefined>>): string | null {
  return budgets.find(([, variable]) => env[variable])?.[1] ?? null;
}
