import type { Project } from "../project/project.ts";
import { findSwarmState } from "../state/find-state.ts";
import { hasUnendedWorkers, type SwarmState } from "../state/rules/swarm-state.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import { addPlannedWork } from "./begin-swarm.ts";
import { modelAccess } from "./model-access.ts";
import { ownSwarm } from "./own.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "./owner-request.ts";
import { type PlanRequest, planStart, refuseChangedFiles } from "./plan-start.ts";
import { refuseEndedTasks } from "./refuse-ended-tasks.ts";
import { refuseTasksWithoutBase } from "./refuse-tasks-without-base.ts";

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
