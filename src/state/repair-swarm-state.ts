import { randomUUID } from "node:crypto";
import { SwarmError } from "../errors/errors.ts";
import type { Host } from "../machine/host.ts";
import { parseTaskFile } from "../tasks/parse-task-file.ts";
import type { ProjectTasks, TaskFolder } from "../tasks/project-tasks.ts";
import { type StateAccess, stateCheckDeps } from "./find-state.ts";
import { nullIfStateInvalid } from "./parse-state.ts";
import { projectLocation, rebindProjectIdentity } from "./project-identity.ts";
import { type RepairRequest, type RepairResult, repairState } from "./repair-state.ts";

/** The parts of a project with which a command repairs the state of this worktree's swarm. */
export interface StateRepairAccess extends StateAccess {
  readonly host: Pick<Host, "clock" | "folders">;
  readonly tasks: Pick<ProjectTasks, "folder">;
}

/** Repairs the state of this worktree's swarm. */
export async function repairSwarmState(
  project: StateRepairAccess,
  rebound: RepairRequest["rebound"],
): Promise<RepairResult> {
  const [repository, store, tasks] = [
    await project.repository(),
    await project.state.store(),
    await project.tasks.folder(),
  ];
  const deps = {
    ...(await stateCheckDeps(project)),
    store,
    branchOf: (taskFilePath: string) => findBranch(tasks, taskFilePath),
    project: () => project.identity(),
    rebind: async (kind: "moved" | "copied") => {
      const known = await store.find().catch(nullIfStateInvalid);
      const location = await projectLocation(repository, project.host.folders.state);
      await rebindProjectIdentity(location, kind, known?.project.id);
    },
    newId: randomUUID,
    clock: project.host.clock,
  };
  return repairState(deps, { worktree: repository.worktree, rebound });
}

/** Returns the branch in a task file; null if the task file is missing or invalid. */
async function findBranch(tasks: Pick<TaskFolder, "read">, taskFilePath: string): Promise<string | null> {
  try {
    const { bytes } = await tasks.read(taskFilePath);
    return (await parseTaskFile(bytes, taskFilePath)).document.metadata.branchName;
  } catch (error) {
    if (error instanceof SwarmError) return null;
    throw error;
  }
}
