import type { SwarmSummary } from "./generated/summary.ts";

/** What the report of a swarm is called, without its ending: the same however often the swarm is gone on with. */
export function reportName({ swarmId, createdAt }: Pick<SwarmSummary, "swarmId" | "createdAt">): string {
  return `${createdAt.slice(0, 10)}-${swarmId.slice(0, 6)}`;
}
