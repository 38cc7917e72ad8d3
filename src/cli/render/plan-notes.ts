import type { SwarmPlan } from "../../tasks/rules/plan.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

/**
 * Renders which hosts the sandboxes of a planned swarm can reach, and which parts of the user's environment
 * they get.
 */
export function planAccessLines({ reach }: SwarmPlan): string[] {
  return reach.map((line) => sanitizeText(line, 1_000));
}

/**
 * Renders what to show the user before swarm runs a plan without asking: the sandboxes' access and all
 * warnings.
 */
export function planNotes(plan: SwarmPlan): string[] {
  return [
    ...planAccessLines(plan),
    ...plan.warnings.map((warning) => `warning: ${sanitizeText(warning, 1_000)}`),
  ];
}
