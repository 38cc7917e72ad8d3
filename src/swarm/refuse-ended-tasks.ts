import { SwarmError } from "../errors/errors.ts";
import { haveAllWorkersEnded, type SwarmState } from "../state/rules/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import type { PlannedWork } from "./begin-swarm.ts";

/**
 * Throws if one of the given tasks has already ended in the present swarm while other tasks of this swarm
 * have not. Only `swarm retry` or a new swarm runs such a task again.
 */
export function refuseEndedTasks(works: readonly PlannedWork[], state: SwarmState | null): void {
  if (state === null || haveAllWorkersEnded(state)) return;
  for (const record of state.containers) {
    const { status, taskFilePath } = record;
    const isWanted = works.some(({ task }) => task.path === taskFilePath);
    if (!isWanted || (status !== "failed" && status !== "completed")) continue;
    const instead =
      status === "failed"
        ? `\`swarm retry ${workerSlug(record)}\` retries the worker with the present content of the task file`
        : "after this swarm has ended, `swarm start` carries out the file in a new swarm; --force starts the new swarm now";
    throw new SwarmError("USAGE", {
      message: `${taskFilePath} has ${status} in this swarm, and the swarm has not ended yet: ${instead}`,
    });
  }
}
