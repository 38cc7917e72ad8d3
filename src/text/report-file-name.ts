import type { SwarmSummary } from "../contract/summary.ts";

/**
 * Returns the file name of a swarm's report, without extension. After `swarm resume`, the new report has the
 * same name.
 */
export function reportFileName({ swarmId, createdAt }: Pick<SwarmSummary, "swarmId" | "createdAt">): string {
  return `${createdAt.slice(0, 10)}-${swarmId.slice(0, 6)}`;
}
