import { cleanText } from "../domain/clean-text.ts";
import type { SwarmPlan } from "../domain/plan.ts";

/**
 * Lists the hosts that a plan's sandboxes can reach, and the parts of the user's environment that the
 * sandboxes get.
 */
export function accessLines({ reach }: SwarmPlan): string[] {
  return reach.map((line) => cleanText(line, 1_000));
}

/** Lists the notes to show before a plan runs without confirmation. */
export function planNotes(plan: SwarmPlan): string[] {
  return [...accessLines(plan), ...plan.warnings.map((warning) => `warning: ${cleanText(warning, 1_000)}`)];
}
