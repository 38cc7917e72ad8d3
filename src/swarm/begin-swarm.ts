import { isTerminal } from "../domain/container-status.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerRecord, EngineRef, ProjectRef } from "../domain/generated/swarm-state.ts";
import type { LoadedTask } from "../domain/plan.ts";
import { workerSlug } from "../domain/slug.ts";
import { newSwarm, type SwarmState, withContainer } from "../domain/swarm-state.ts";
import { workerContainerName } from "../domain/worker-names.ts";
import { newStories, progressOf } from "../domain/worker-record.ts";
import type { StateStore } from "../ports/state-store.ts";
import type { WaitingWorker } from "./equip-worker.ts";

export interface BeginDeps {
  readonly store: StateStore;
  readonly project: ProjectRef;
  readonly engine: EngineRef;
  readonly newId: () => string;
  readonly clock: () => Date;
}

/** A task file that is to be carried out, by its place in the plan. */
export interface PlannedWork {
  readonly slug: string;
  readonly task: LoadedTask;
}

/**
 * The state of a swarm with a record for each task that is to be carried out: the one that is there if it is not finished,
 * else a new one, and the finished one goes into the archive. Only its owner may call this.
 */
export async function beginSwarm(deps: BeginDeps, works: readonly PlannedWork[]): Promise<SwarmState> {
  const known = await deps.store.find();
  if (known) refuseOtherEngine(known, deps.engine);
  const isFinished = known?.containers.every(({ status }) => isTerminal(status)) ?? false;
  const state =
    known === null || (isFinished && known.containers.length > 0)
      ? await replaceOrCreate(deps, known)
      : known;
  return deps.store.update((before) =>
    works.reduce<SwarmState>((now, work) => withWork(now, work, deps.clock()), {
      ...before,
      engine: before.engine ?? deps.engine,
      swarmId: state.swarmId,
    }),
  );
}

async function replaceOrCreate(
  { store, project, newId, clock }: BeginDeps,
  known: SwarmState | null,
): Promise<SwarmState> {
  const begun = newSwarm(project, newId(), clock());
  return known === null ? store.create(begun) : store.replace(begun);
}

function refuseOtherEngine({ engine: recorded }: SwarmState, { endpoint, id }: EngineRef): void {
  if (recorded && recorded.id !== id)
    throw new SwarmError("ENGINE_CHANGED", { endpoint, recorded: recorded.id, found: id });
}

function withWork(state: SwarmState, { slug, task }: PlannedWork, now: Date): SwarmState {
  if (state.containers.some(({ taskFilePath }) => taskFilePath === task.path)) return state;
  const { metadata, userStories } = task.taskFile;
  const stories = newStories(userStories.map(({ id }) => id));
  return withContainer(
    state,
    {
      containerName: workerContainerName({
        projectId: state.project.id,
        swarmId: state.swarmId,
        slug,
        attempt: 1,
      }),
      ...{
        taskFilePath: task.path,
        branchName: metadata.branchName,
        stories,
        storyProgress: progressOf(stories),
      },
    },
    now,
  );
}

/** Every worker of the state that has not come to its end, with its task. */
export function waitingWorkers(
  { containers }: SwarmState,
  taskOf: (record: ContainerRecord) => LoadedTask | null,
): WaitingWorker[] {
  const nameByFile = new Map(
    containers.map(({ containerName, taskFilePath }) => [taskFilePath.split("/").at(-1), containerName]),
  );
  return containers.flatMap((record) => {
    const task = isTerminal(record.status) ? null : taskOf(record);
    if (task === null) return [];
    const dependsOn = (task.taskFile.metadata.dependsOn ?? []).flatMap((file) => nameByFile.get(file) ?? []);
    return [{ name: record.containerName, slug: workerSlug(record), task, dependsOn }];
  });
}
