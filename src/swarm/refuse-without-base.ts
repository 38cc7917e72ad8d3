import { basename } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { isFinished, type SwarmState } from "../domain/swarm-state.ts";
import type { PlannedWork } from "./begin-swarm.ts";

/** What was carried out in an earlier swarm is a branch by now that anybody may have moved: it is no base to rely on. */
export function refuseWithoutBase(works: readonly PlannedWork[], state: SwarmState | null): void {
  const open =
    state && !isFinished(state) ? state.containers.map(({ taskFilePath }) => basename(taskFilePath)) : [];
  const present = new Set([...open, ...works.map(({ task }) => task.fileName)]);
  for (const { task } of works) {
    const missing = task.taskFile.metadata.dependsOn?.find((file) => !present.has(file));
    if (missing !== undefined)
      throw new SwarmError("USAGE", {
        message: `${task.path} starts from the result of ${missing}, which an earlier swarm carried out or nobody asked for: name both, with --again`,
      });
  }
}
