import type { ContainerRecord, ProjectRef } from "../contract/swarm-state.ts";
import { type EngineWorktreeScope, type LabelledContainer, labels } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { JournalSummary } from "../protocol/host-journal.ts";
import { throwIfSwarmOwned } from "./change-state.ts";
import { type CheckStateDeps, compareStateWithEngine } from "./compare-state-with-engine.ts";
import { nullIfStateInvalid } from "./parse-state.ts";
import { refuseOtherProject } from "./project-identity.ts";
import { applyRecordCorrections } from "./rules/apply-correction.ts";
import { judgeEndedAttempt } from "./rules/reconcile-records.ts";
import { findRecord, newSwarmState, type SwarmState, stateWithNewRecord } from "./rules/swarm-state.ts";
import { countStoryProgress, newStoryRecords } from "./rules/worker-record.ts";
import type { StateStore } from "./state-store.ts";

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
    // The swarm in the copied state file and its containers belong to the original project.
    if (rebound === "copied") {
      const state = await deps.store.replace(newSwarmState(project, deps.newId(), deps.clock()));
      return { ...nothing, result: "begun anew", state };
    }
    refuseOtherProject(known, project.id);
  }
  if (known.project.root !== project.root) {
    const state = await deps.store.update((before) => ({ ...before, project }));
    return { ...nothing, result: "moved", state };
  }
  return correct(deps, known, scope);
}

const swarmIdForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

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
    const { state: corrected } = applyRecordCorrections(before, corrections, now);
    const added = recovered.filter((record) => !corrected.containers.some((other) => clash(record, other)));
    return added.length > 0 ? { ...corrected, containers: [...corrected.containers, ...added] } : corrected;
  });
  const adopted = namesOf(state).filter((name) => !namesOf(known).includes(name));
  const corrected = namesOf(known).filter((name) => changed(known, state, name));
  const result = adopted.length + corrected.length > 0 ? "corrected" : "nothing to repair";
  return { result, reconciled, adopted, corrected, state };
}

function changed(before: SwarmState, after: SwarmState, name: string): boolean {
  return JSON.stringify(findRecord(before, name)) !== JSON.stringify(findRecord(after, name));
}

/**
 * Returns whether two records cannot be in the same swarm, because they have the same container name, task
 * file or container id.
 */
function clash(a: ContainerRecord, b: ContainerRecord): boolean {
  return (["containerName", "taskFilePath", "containerId"] as const).some((key) => a[key] === b[key]);
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
 * Returns the id of the swarm to which most of the containers belong. The newest swarm would be a better
 * choice, but the engine's list does not show which one is the newest.
 */
function commonestSwarm(containers: readonly LabelledContainer[]): string | null {
  const countById = new Map<string, number>();
  for (const container of containers) {
    const id = container.labels[labels.swarm];
    if (id && swarmIdForm.test(id)) countById.set(id, (countById.get(id) ?? 0) + 1);
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
    const { name: containerName, containerId } = container;
    const facts = factsFrom(container, journal);
    next = stateWithNewRecord(
      next,
      { containerName, containerId, taskFilePath, branchName, ...facts },
      deps.clock(),
    );
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

/** Returns what a container and the host's journal of its messages say about a worker whose record was lost. */
function factsFrom(container: LabelledContainer, journal: JournalSummary | null): Partial<ContainerRecord> {
  const attempt = Number(container.labels[labels.attempt] ?? journal?.attempt ?? 1);
  const running = ["running", "paused", "restarting"].includes(container.state);
  const ended = judgeEndedAttempt(
    { exitCode: null, oomKilled: false, processes: null, runtime: "" },
    { completion: journal?.completion ?? null, error: journal?.error ?? null },
  );
  const facts = {
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
    ...(container.state === "created" ? {} : running ? { status: "running" as const } : ended),
  };
  if (!journal) return facts;
  const stories = newStoryRecords([...journal.statusById.keys()]).map((story) => ({
    ...story,
    status: journal.statusById.get(story.id) ?? story.status,
    attempt: journal.attempt,
  }));
  return { ...facts, lastSeq: journal.lastSeq, stories, storyProgress: countStoryProgress(stories) };
}

function namesOf(state: SwarmState): string[] {
  return state.containers.map(({ containerName }) => containerName);
}
