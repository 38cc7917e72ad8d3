import { cleanText } from "../domain/clean-text.ts";
import type { SwarmPlan } from "../domain/plan.ts";

/** What the sandboxes of a plan reach, and what goes into them of this environment. */
export function accessLines({ reach }: SwarmPlan): string[] {
  return reach.map((line) => cleanText(line, 1_000));
}

/** What a person must know of a plan that is carried out at once. */
export function planNotes(plan: SwarmPlan): string[] {
  return [...accessLines(plan), ...plan.warnings.map((warning) => `warning: ${cleanText(warning, 1_000)}`)];
}
