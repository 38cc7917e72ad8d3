import { cleanText } from "../domain/clean-text.ts";
import type { SwarmPlan } from "../domain/plan.ts";

/** The hosts that a plan's sandboxes reach, and the parts of this environment that they get. */
export function accessLines({ reach }: SwarmPlan): string[] {
  return reach.map((line) => cleanText(line, 1_000));
}

/** The notes to show before a plan runs without confirmation. */
export function planNotes(plan: SwarmPlan): string[] {
  return [...accessLines(plan), ...plan.warnings.map((warning) => `warning: ${cleanText(warning, 1_000)}`)];
}
