import { countOf } from "../domain/count-of.ts";
import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
import { table } from "./table.ts";

/** What to type after looking at a swarm. */
export const statusNext = "`swarm state check` compares this with the engine";

/** A line for the swarm and one for each worker. */
export function statusLines({ swarmId, updatedAt, containers }: SwarmState): string[] {
  const rows = containers.map((record) => [
    record.status,
    record.containerName,
    record.branchName,
    storiesOf(record),
    record.reason ? `${record.reason.code}: ${record.reason.message}` : "",
  ]);
  return [
    `swarm ${swarmId}, ${countOf(containers.length, "worker")}, last changed ${updatedAt}`,
    ...table(rows),
  ];
}

function storiesOf({ storyProgress: { completed, total } }: ContainerRecord): string {
  return `${completed}/${total}`;
}
