import { basename } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { modelAccess } from "../gateway/agent-access.ts";
import type { Project } from "../project/project.ts";
import { findSwarmState } from "../state/find-state.ts";
import { hasUnendedWorkers, haveAllWorkersEnded, type SwarmState } from "../state/rules/swarm-state.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { addPlannedWork, type PlannedWork } from "./begin-swarm.ts";
import { ownSwarm } from "./own.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "./owner-request.ts";
import { type PlanRequest, planStart, refuseChangedFiles } from "./plan-start.ts";

/** A request to run task files as a swarm. */
export interface StartSwarmRequest extends PlanRequest, OwnerRequest {
  /**
   * Whether to add the task files to the swarm that is running, if there is one. Otherwise this process runs
   * them.
   */
  readonly append: boolean;
  /** The checksums of the task files that another process of this command planned, as `FILE=SHA256`. */
  readonly planned?: readonly string[];
}

export type StartSwarmResult =
  | { readonly kind: "nothing"; readonly plan: SwarmPlan; readonly files: readonly string[] }
  | { readonly kind: "appended"; readonly state: SwarmState; readonly files: readonly string[] }
  | { readonly kind: "carried out"; readonly state: SwarmState };

/** Plans task files and runs them, as the owner of a new swarm or of this worktree's unfinished swarm. */
export async function startSwarm(
  project: Project,
  request: StartSwarmRequest,
  report: SwarmRunCallbacks,
): Promise<StartSwarmResult> {
  const { plan, works } = await planStart(project, request);
  if (request.planned) refuseChangedFiles(works, request.planned);
  const access = await modelAccess(project, null);
  access.refuse(await access.findAgentsToStart(works, null, []));
  report.onPlanned(plan);
  // Throws PROJECT_MOVED if the state belongs to another project.
  const known = await findSwarmState(project);
  // No file in the request means `--all`: new task files and the swarm's unfinished workers.
  const isLeft = request.files.length === 0 && known !== null && hasUnendedWorkers(known);
  if (works.length === 0 && (!isLeft || request.append))
    return { kind: "nothing", plan, files: request.files };
  const resumed = request.force ? null : known;
  refuseTasksWithoutBase(works, resumed);
  if (request.append && (await isOwned(project))) {
    refuseEndedTasks(works, known);
    const store = await project.state.store();
    const state = await store.update((before) => addPlannedWork(before, works, project.host.clock()));
    // If the owner exited before it saw the new work, this process becomes the owner below.
    if (await isOwned(project)) return { kind: "appended", state, files: works.map(({ task }) => task.path) };
  }
  refuseEndedTasks(works, resumed);
  return { kind: "carried out", state: await ownSwarm(project, { ...request, works }, report) };
}

async function isOwned({ state }: Pick<Project, "state">): Promise<boolean> {
  return (await (await state.owner()).holder()) !== null;
}

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

/**
 * Throws if one of the given tasks depends on a task that the present swarm does not include. The branch of
 * that other task may have moved, so the given task cannot safely start from it.
 */
function refuseTasksWithoutBase(works: readonly PlannedWork[], state: SwarmState | null): void {
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
