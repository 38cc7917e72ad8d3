import type { ContainerRecord, ProjectRef, StoryProgress } from "../contract/swarm-state.ts";
import { type EngineWorktreeScope, type LabelledContainer, labels } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { JournalSummary } from "../protocol/journal-summary.ts";
import { throwIfSwarmOwned } from "./change-state.ts";
import { type CheckStateDeps, compareStateWithEngine } from "./compare-state-with-engine.ts";
import { applyRecordCorrection } from "./rules/apply-correction.ts";
import { judgeEndedAttempt } from "./rules/reconcile-records.ts";
import {
  newSwarmState,
  type SwarmState,
  stateWithNewRecord,
  stateWithReplacedRecord,
} from "./rules/swarm-state.ts";
import { nullIfStateInvalid, type StateStore } from "./state-store-port.ts";

export interface RepairStateDeps extends CheckStateDeps {
  readonly store: StateStore;
  readonly branchOf: (taskFilePath: string) => Promise<string | null>;
  /** Returns the project with the ID that the project's ID file contains now. */
  readonly project: () => Promise<ProjectRef>;
  /** Binds the project's ID to the present folder and machine, if it is bound to others. */
  readonly rebind: (kind: "moved" | "copied") => Promise<void>;
  readonly newId: () => string;
  readonly clock: () => Date;
}

/** What a repair of the swarm's state has changed. */
export interface RepairResult {
  readonly result:
    | "nothing to repair"
    | "corrected"
    | "restored from the copy"
    | "rebuilt"
    | "moved"
    | "begun anew";
  /** Whether an engine answered and the records could be compared with its containers. */
  readonly reconciled: boolean;
  /** The names of the containers for which the repair added a record. */
  readonly adopted: readonly string[];
  /** The container names of the records that the repair changed. */
  readonly corrected: readonly string[];
  readonly state: SwarmState;
}

export interface RepairRequest {
  readonly worktree: string;
  /**
   * What the user said about the project's folder: that it was moved or copied. Null if the user said
   * neither.
   */
  readonly rebound: "moved" | "copied" | null;
}

/**
 * Repairs the swarm's state. Uses the state file if it is valid, or else its backup copy. If neither is
 * usable, rebuilds the state from the labels of the engine's containers and the host's journals.
 */
export async function repairState(
  deps: RepairStateDeps,
  { worktree, rebound }: RepairRequest,
): Promise<RepairResult> {
  await throwIfSwarmOwned(deps.owner);
  if (rebound) await deps.rebind(rebound);
  const project = await deps.project();
  const scope = { projectId: project.id, worktree };
  const known = await deps.store.find().catch(nullIfStateInvalid);
  if (!known) return restoreOrRebuild(deps, project, scope);
  if (known.project.id !== project.id) {
    if (rebound === "copied") return beginAnew(deps, project);
    throw new SwarmError("PROJECT_MOVED", {
      was: `project ${known.project.id}`,
      is: `project ${project.id}`,
    });
  }
  if (known.project.root !== project.root) {
    const state = await deps.store.update((before) => ({ ...before, project }));
    return { ...nothing, result: "moved", state };
  }
  return correct(deps, known, scope);
}

const nothing = { reconciled: false, adopted: [], corrected: [] } as const;

/**
 * Corrects a valid state by comparing its records with the engine's containers. Leaves out corrections for
 * which work must be collected first.
 */
async function correct(
  deps: RepairStateDeps,
  known: SwarmState,
  scope: EngineWorktreeScope,
): Promise<RepairResult> {
  const { reconciled, corrections, orphans } = await compareStateWithEngine(deps, scope);
  const strays = orphans.filter((container) => container.labels[labels.swarm] === known.swarmId);
  const recovered = (await withContainers(deps, { ...known, containers: [] }, strays)).containers;
  const now = deps.clock();
  if (corrections.length === 0 && recovered.length === 0)
    return { ...nothing, result: "nothing to repair", reconciled, state: known };

  const state = await deps.store.update((before) => {
    const corrected = corrections.reduce(
      (next, correction) => applyRecordCorrection(next, correction, now),
      before,
    );
    const added = recovered.filter((record) => !corrected.containers.some((other) => clash(record, other)));
    return added.length > 0 ? { ...corrected, containers: [...corrected.containers, ...added] } : corrected;
  });
  const adopted = namesOf(state).filter((name) => !namesOf(known).includes(name));
  const corrected = namesOf(known).filter((name) => changed(known, state, name));
  const result = adopted.length + corrected.length > 0 ? "corrected" : "nothing to repair";
  return { result, reconciled, adopted, corrected, state };
}

function changed(before: SwarmState, after: SwarmState, name: string): boolean {
  const [one, two] = [before, after].map(({ containers }) =>
    containers.find(({ containerName }) => containerName === name),
  );
  return JSON.stringify(one) !== JSON.stringify(two);
}

/**
 * Returns whether two records cannot be in the same swarm, because they have the same container name, task
 * file or container id.
 */
function clash(a: ContainerRecord, b: ContainerRecord): boolean {
  return (
    a.containerName === b.containerName ||
    a.taskFilePath === b.taskFilePath ||
    a.containerId === b.containerId
  );
}

async function restoreOrRebuild(
  deps: RepairStateDeps,
  project: ProjectRef,
  scope: EngineWorktreeScope,
): Promise<RepairResult> {
  const copy = await deps.store.findCopy();
  if (copy?.project.id === project.id) {
    return { ...nothing, result: "restored from the copy", state: await deps.store.replace(copy) };
  }
  const engine = await deps.findEngine(null);
  // Throws if there is no engine: an empty state could forget existing containers.
  if (!engine)
    throw new SwarmError("ENGINE_UNREACHABLE", {
      tried: ["`swarm state repair` must read the engine's containers, but no engine was found"],
    });
  const containers = await engine.listContainers(scope);
  const swarmId = commonestSwarm(containers) ?? deps.newId();
  const ours = containers.filter((container) => container.labels[labels.swarm] === swarmId);
  const empty = newSwarmState(project, swarmId, deps.clock());
  const state = await deps.store.replace(await withContainers(deps, empty, ours));
  return { result: "rebuilt", reconciled: true, adopted: namesOf(state), corrected: [], state };
}

/**
 * Begins a new swarm in a copied project, because the swarm in the copied state file and its containers
 * belong to the original project.
 */
async function beginAnew(
  { store, newId, clock }: RepairStateDeps,
  project: ProjectRef,
): Promise<RepairResult> {
  const state = await store.replace(newSwarmState(project, newId(), clock()));
  return { ...nothing, result: "begun anew", state };
}

/**
 * Returns the id of the swarm to which most of the containers belong. The newest swarm would be a better
 * choice, but the engine's list does not show which one is the newest.
 */
function commonestSwarm(containers: readonly LabelledContainer[]): string | null {
  const countById = new Map<string, number>();
  for (const container of containers) {
    const id = container.labels[labels.swarm];
    if (id && isSwarmId(id)) countById.set(id, (countById.get(id) ?? 0) + 1);
  }
  return [...countById].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

async function withContainers(
  deps: RepairStateDeps,
  state: SwarmState,
  containers: readonly LabelledContainer[],
): Promise<SwarmState> {
  let next = state;
  for (const container of containers) {
    const taskFilePath = container.labels[labels.taskFile];
    if (!taskFilePath || !isRecordable(container.name, taskFilePath)) continue;
    if (next.containers.some((record) => record.taskFilePath === taskFilePath)) continue;
    const journal = await deps.readJournal(state.swarmId, { containerName: container.name, taskFilePath });
    const branchName = (await deps.branchOf(taskFilePath)) ?? `recovered/${container.name}`;
    next = stateWithNewRecord(
      next,
      { containerName: container.name, containerId: container.containerId, taskFilePath, branchName },
      deps.clock(),
    );
    next = stateWithReplacedRecord(next, recovered(next, container, journal));
  }
  return next;
}

/**
 * Returns whether this container name and this task file path have a form that is valid in a record. They are
 * untrusted, because any user of the engine can set names and labels.
 */
function isRecordable(containerName: string, taskFilePath: string): boolean {
  return (
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/.test(containerName) &&
    /^[^\u0000-\u001f]{1,995}\.json$/.test(taskFilePath)
  );
}

function isSwarmId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}

function recovered(
  state: SwarmState,
  container: LabelledContainer,
  journal: JournalSummary | null,
): ContainerRecord {
  const record = state.containers.find(
    ({ containerName }) => containerName === container.name,
  ) as ContainerRecord;
  const attempt = Number(container.labels[labels.attempt] ?? journal?.attempt ?? 1);
  const running =
    container.state === "running" || container.state === "paused" || container.state === "restarting";
  const ended = judgeEndedAttempt(
    { exitCode: null, oomKilled: false, processes: null, runtime: "" },
    { completion: journal?.completion ?? null, error: journal?.error ?? null },
  );
  return {
    ...record,
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
    ...(container.state === "created" ? {} : running ? { status: "running" } : ended),
    ...(journal && {
      lastSeq: journal.lastSeq,
      storyProgress: progressOf(journal),
      stories: [...journal.statusById].map(([id, status]) => ({
        id,
        status,
        commit: null,
        attempt: journal.attempt,
        reason: null,
      })),
    }),
  };
}

function progressOf({ statusById }: JournalSummary): StoryProgress {
  const statuses = [...statusById.values()];
  const count = (wanted: string): number => statuses.filter((status) => status === wanted).length;
  return {
    total: statuses.length,
    completed: count("completed"),
    failed: count("failed"),
    inProgress: count("in_progress"),
    pending: count("pending"),
    skipped: count("skipped"),
  };
}

function namesOf(state: SwarmState): string[] {
  return state.containers.map(({ containerName }) => containerName);
}
