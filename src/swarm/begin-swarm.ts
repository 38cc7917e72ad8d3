import { isTerminal } from "../domain/container-status.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerRecord, EngineRef, ProjectRef } from "../domain/generated/swarm-state.ts";
import type { LoadedTask, WorkerTask } from "../domain/plan.ts";
import { workerSlug } from "../domain/slug.ts";
import { newSwarm, type SwarmState, withContainer } from "../domain/swarm-state.ts";
import { type Wish, withoutWish } from "../domain/wishes.ts";
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

export interface Beginning {
  readonly works: readonly PlannedWork[];
  /** Whether a swarm that is there goes into the archive. */
  readonly isNew: boolean;
  /** What was wished when this ownership began: nobody is left who waits for it. Later wishes are for us. */
  readonly left: readonly Wish[];
}

/** The state of a swarm with a record for each task that is to be carried out. Only its owner may call this. */
export async function beginSwarm(deps: BeginDeps, { works, isNew, left }: Beginning): Promise<SwarmState> {
  const known = await deps.store.find();
  if (known === null || isNew) return replaceOrCreate(deps, known, works);
  refuseOtherEngine(known, deps.engine);
  return deps.store.update((before) => {
    const { systemCalls } = deps.engine;
    const engine = { ...(before.engine ?? deps.engine), ...(systemCalls !== undefined && { systemCalls }) };
    const ours = { ...before, engine, swarmId: known.swarmId };
    const overtaken = left.filter(({ wish }) => wish !== "retry");
    return withWorks(overtaken.reduce(withoutWish, withoutPauses(ours)), works, deps.clock());
  });
}

/** With a record for each task that has none yet. */
export function withWorks(state: SwarmState, works: readonly PlannedWork[], now: Date): SwarmState {
  return works.reduce((before, work) => withWork(before, work, now), state);
}

/** Whoever goes on with a swarm wants all of it to go on: what stops it is over. A running one is unpaused when it is joined. */
function withoutPauses(state: SwarmState): SwarmState {
  const containers = state.containers.map((record) =>
    record.status === "running" ? record : { ...record, paused: null },
  );
  return { ...state, containers };
}

/** In one write: one without its workers would be taken for a swarm that has nothing to do. */
async function replaceOrCreate(
  { store, project, engine, newId, clock }: BeginDeps,
  known: SwarmState | null,
  works: readonly PlannedWork[],
): Promise<SwarmState> {
  const now = clock();
  const begun = withWorks({ ...newSwarm(project, newId(), now), engine }, works, now);
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
      containerName: freeName(state, slug),
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

/** Workers that are added later may have slugs like earlier ones. */
function freeName({ project, swarmId, containers }: SwarmState, slug: string): string {
  const taken = new Set(containers.map(workerSlug));
  let free = slug;
  for (let count = 2; taken.has(free); count += 1) free = `${slug.slice(0, 26)}-${count}`;
  return workerContainerName({ projectId: project.id, swarmId, slug: free, attempt: 1 });
}

/** Every worker of the state that has not come to its end, with its task. */
export function waitingWorkers(
  { containers }: SwarmState,
  taskOf: (record: ContainerRecord) => WorkerTask | null,
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
