import { describeCredentials } from "../domain/agent-credentials.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { SwarmPlan } from "../domain/plan.ts";
import { describeNetwork } from "../domain/worker-network.ts";

/** What the sandboxes of a plan reach, and what goes into them of this environment. */
export function accessLines({ network, credentials }: SwarmPlan): string[] {
  const reach = describeNetwork(network);
  return [...(reach === null ? [] : [reach]), ...credentials.map(describeCredentials)];
}

/** What a person must know of a plan that is carried out at once. */
export function planNotes(plan: SwarmPlan): string[] {
  return [...accessLines(plan), ...plan.warnings.map((warning) => `warning: ${cleanText(warning, 1_000)}`)];
}
