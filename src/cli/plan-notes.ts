import { sanitizeText } from "../domain/clean-text.ts";
import type { SwarmPlan } from "../domain/plan.ts";

/**
 * Lists the hosts that a plan's sandboxes can reach, and the parts of the user's environment that the
 * sandboxes get.
 */
export function planAccessLines({ reach }: SwarmPlan): string[] {
  return reach.map((line) => sanitizeText(line, 1_000));
}

/** Lists the notes to show before a plan runs without confirmation. */
export function planNotes(plan: SwarmPlan): string[] {
  return [
    ...planAccessLines(plan),
    ...plan.warnings.map((warning) => `warning: ${sanitizeText(warning, 1_000)}`),
  ];
}
