import type { ContainerRecord, EngineRef, ProjectRef } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { type OwnerCommand, stateWithoutOwnerCommand } from "../state/rules/owner-commands.ts";
import { newSwarmState, type SwarmState, stateWithNewRecord } from "../state/rules/swarm-state.ts";
import { workerContainerName } from "../state/rules/worker-container-name.ts";
import { countStoryProgress, newStoryRecords } from "../state/rules/worker-record.ts";
import type { StateStore } from "../state/state-store.ts";
import type { LoadedTask, WorkerTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import type { UnpreparedWorker } from "./worker/worker.ts";

export interface BeginSwarmDeps {
  readonly store: StateStore;
  readonly project: ProjectRef;
  readonly engine: EngineRef;
  /** The ID of the swarm, if it is a new one. */
  readonly swarmId: string;
  readonly clock: () => Date;
}

/** A task file that a new worker will carry out, with the slug from the plan. */
export interface PlannedWork {
  readonly slug: string;
  readonly task: LoadedTask;
}

export interface BeginSwarmRequest {
  readonly works: readonly PlannedWork[];
  /** Whether to archive the state of the present swarm and begin a new swarm. */
  readonly isNew: boolean;
  /**
   * The commands for the previous owner that were still in the state when this process became the owner. The
   * new owner drops them, except `retry`, because the processes that sent them no longer wait.
   */
  readonly earlierCommands: readonly OwnerCommand[];
}

/**
 * Creates the state of a new swarm, or extends the state of the present one, with a record for each task to
 * carry out. Only the owner may call it.
 */
export async function beginSwarm(
  deps: BeginSwarmDeps,
  { works, isNew, earlierCommands }: BeginSwarmRequest,
): Promise<SwarmState> {
  const known = await deps.store.find();
  if (known === null || isNew) return replaceOrCreate(deps, known, works);
  refuseOtherEngine(known, deps.engine);
  return deps.store.update((before) => {
    const { systemCalls } = deps.engine;
    const engine = { ...(before.engine ?? deps.engine), ...(systemCalls !== undefined && { systemCalls }) };
    const ours = { ...before, engine, swarmId: known.swarmId };
    const overtaken = earlierCommands.filter(({ wish }) => wish !== "retry");
    return addPlannedWork(
      overtaken.reduce(stateWithoutOwnerCommand, withoutPauses(ours)),
      works,
      deps.clock(),
    );
  });
}

/**
 * Returns the state, extended by a record with the status `pending` for each given task that has no record
 * yet.
 */
export function addPlannedWork(state: SwarmState, works: readonly PlannedWork[], now: Date): SwarmState {
  return works.reduce((before, work) => withWork(before, work, now), state);
}

/**
 * Clears the pauses of all workers that do not run. For a running worker, the owner clears the pause when it
 * connects to the worker.
 */
function withoutPauses(state: SwarmState): SwarmState {
  const containers = state.containers.map((record) =>
    record.status === "running" ? record : { ...record, paused: null },
  );
  return { ...state, containers };
}

/**
 * Writes the state of a new swarm together with the records of its workers. A crash between two separate
 * writes would leave a swarm without workers.
 */
async function replaceOrCreate(
  { store, project, engine, swarmId, clock }: BeginSwarmDeps,
  known: SwarmState | null,
  works: readonly PlannedWork[],
): Promise<SwarmState> {
  const now = clock();
  const begun = addPlannedWork({ ...newSwarmState(project, swarmId, now), engine }, works, now);
  return known === null ? store.create(begun) : store.replace(begun);
}

function refuseOtherEngine({ engine: recorded }: SwarmState, { endpoint, id }: EngineRef): void {
  if (recorded && recorded.id !== id)
    throw new SwarmError("ENGINE_CHANGED", { endpoint, recorded: recorded.id, found: id });
}

function withWork(state: SwarmState, { slug, task }: PlannedWork, now: Date): SwarmState {
  if (state.containers.some(({ taskFilePath }) => taskFilePath === task.path)) return state;
  const { metadata, userStories } = task.taskFile;
  const stories = newStoryRecords(userStories.map(({ id }) => id));
  return stateWithNewRecord(
    state,
    {
      containerName: freeName(state, slug),
      taskFilePath: task.path,
      branchName: metadata.branchName,
      stories,
      storyProgress: countStoryProgress(stories),
    },
    now,
  );
}

/**
 * Returns a container name that no other worker of the swarm has. A plain slug is not enough, because an
 * added task may have the slug of an earlier worker.
 */
function freeName({ project, swarmId, containers }: SwarmState, slug: string): string {
  const taken = new Set(containers.map(workerSlug));
  let free = slug;
  for (let count = 2; taken.has(free); count += 1) free = `${slug.slice(0, 26)}-${count}`;
  return workerContainerName({ projectId: project.id, swarmId, slug: free, attempt: 1 });
}

/**
 * Returns every worker in the state that has not ended, with its task. Leaves out a worker whose task is
 * unknown.
 */
export function findUnendedWorkers(
  { containers }: SwarmState,
  taskOf: (record: ContainerRecord) => WorkerTask | null,
): UnpreparedWorker[] {
  const nameByFile = new Map(
    containers.map(({ containerName, taskFilePath }) => [taskFilePath.split("/").at(-1), containerName]),
  );
  return containers.flatMap((record) => {
    const task = isTerminalStatus(record.status) ? null : taskOf(record);
    if (task === null) return [];
    const dependsOn = (task.taskFile.metadata.dependsOn ?? []).flatMap((file) => nameByFile.get(file) ?? []);
    return [{ name: record.containerName, slug: workerSlug(record), task, dependsOn }];
  });
}
