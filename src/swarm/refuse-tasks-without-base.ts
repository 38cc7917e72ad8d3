import { basename } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { haveAllWorkersEnded, type SwarmState } from "../state/rules/swarm-state.ts";
import type { PlannedWork } from "./begin-swarm.ts";

/**
 * Throws if one of the given tasks depends on a task that the present swarm does not include. The branch of
 * that other task may have moved, so the given task cannot safely start from it.
 */
export function refuseTasksWithoutBase(works: readonly PlannedWork[], state: SwarmState | null): void {
  const open =
    state && !haveAllWorkersEnded(state)
      ? state.containers.map(({ taskFilePath }) => basename(taskFilePath))
      : [];
  const present = new Set([...open, ...works.map(({ task }) => task.fileName)]);
  for (const { task } of works) {
    const missing = task.taskFile.metadata.dependsOn?.find((file) => !present.has(file));
    if (missing !== undefined)
      throw new SwarmError("USAGE", {
        message: `${task.path} starts from the result of ${missing}, which this swarm does not include. Start both files together; if ${missing} was carried out before, add --again`,
      });
  }
}
