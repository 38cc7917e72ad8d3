import type { SwarmSummary } from "./generated/summary.ts";

/** The file name of a swarm's report, without its extension; resuming the swarm does not change it. */
export function reportName({ swarmId, createdAt }: Pick<SwarmSummary, "swarmId" | "createdAt">): string {
  return `${createdAt.slice(0, 10)}-${swarmId.slice(0, 6)}`;
}
