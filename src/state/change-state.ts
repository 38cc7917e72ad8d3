import { randomUUID } from "node:crypto";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Host } from "../machine/host.ts";
import type { Lock } from "../machine/locks/lock.ts";
import type { ProjectTasks } from "../tasks/project-tasks.ts";
import { newestLedgerLineBySha256, type TaskLedgerLine } from "../tasks/rules/ledger.ts";
import { describeHolder } from "../text/lock-holder.ts";
import { findSwarmState, type StateAccess } from "./find-state.ts";
import { isTerminalStatus } from "./rules/container-status.ts";
import {
  type ContainerRecord,
  newSwarmState,
  type RecordChange,
  requireRecord,
  type SwarmState,
  stateWithChangedRecord,
  stateWithNewRecord,
  stateWithoutEndedRecords,
  stateWithoutRecord,
} from "./rules/swarm-state.ts";
import type { StateChange, StateStore } from "./state-store.ts";

/** The parts of a project with which a command changes the state of this worktree's swarm. */
export interface StateChangeAccess extends StateAccess {
  readonly host: Pick<Host, "clock">;
  readonly tasks: ProjectTasks;
}

/** Creates the state of a new swarm; with `force`, archives the present state first. */
export async function initState(
  project: StateChangeAccess,
  { force }: { force: boolean },
): Promise<SwarmState> {
  if (!force) await findSwarmState(project);
  const identity = await project.identity();
  await throwIfSwarmOwned(await project.state.owner());
  const state = newSwarmState(identity, randomUUID(), project.host.clock());
  const store = await project.state.store();
  return force ? store.replace(state) : store.create(state);
}

/**
 * Adds a record with the status `pending` for a worker. Unlike the other changes in this file, this change is
 * allowed while another process owns the swarm.
 */
export async function addWorkerRecord(
  project: StateChangeAccess,
  container: Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName" | "containerId">,
): Promise<ContainerRecord> {
  const store = await openStoreForChange(project);
  const state = await store.update((before) => stateWithNewRecord(before, container, project.host.clock()));
  return requireRecord(state, container.containerName);
}

/**
 * Changes a worker's record. If the change ends the worker, also adds the outcome of its task to the ledger.
 */
export async function updateWorkerRecord(
  project: StateChangeAccess,
  name: string,
  change: RecordChange,
): Promise<ContainerRecord> {
  const state = await changeUnowned(project, (before) =>
    stateWithChangedRecord(before, name, change, project.host.clock()),
  );
  const record = requireRecord(state, name);
  if (change.status && isTerminalStatus(record.status)) await addToLedger(project, state.swarmId, record);
  return record;
}

export async function removeWorkerRecord(project: StateChangeAccess, name: string): Promise<void> {
  await changeUnowned(project, (before) => stateWithoutRecord(before, name));
}

/** Removes the records of ended workers from the state, and returns how many it removed. */
export async function removeEndedWorkerRecords(project: StateChangeAccess): Promise<number> {
  let removed = 0;
  await changeUnowned(project, (before) => {
    const after = stateWithoutEndedRecords(before);
    removed = before.containers.length - after.containers.length;
    return removed > 0 ? after : before;
  });
  return removed;
}

/** Opens the state for a change. Throws PROJECT_MOVED if the state belongs to another project. */
async function openStoreForChange(project: StateChangeAccess): Promise<StateStore> {
  await findSwarmState(project);
  await project.identity();
  return project.state.store();
}

/** Makes a change that only the owner may make while a process owns the swarm. */
async function changeUnowned(project: StateChangeAccess, change: StateChange): Promise<SwarmState> {
  const store = await openStoreForChange(project);
  await throwIfSwarmOwned(await project.state.owner());
  return store.update(change);
}

/** Throws OWNED_BY_ANOTHER if a process owns the swarm, because then only the owner may change the state. */
export async function throwIfSwarmOwned(owner: Pick<Lock, "holder">): Promise<void> {
  const holder = await owner.holder();
  if (holder) throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(holder) });
}

async function addToLedger(
  project: StateChangeAccess,
  swarmId: string,
  record: ContainerRecord,
): Promise<void> {
  const [folder, ledger] = [await project.tasks.folder(), await project.tasks.ledger()];
  // The ledger identifies a task by its file's content. If the task file is gone, no line can be added.
  const task = await folder.read(record.taskFilePath).catch((error: unknown) => {
    if (isError(error, "TASK_FILE_NOT_FOUND") || isError(error, "TASK_FILE_OUTSIDE")) return null;
    throw error;
  });
  if (!task || (record.status !== "completed" && record.status !== "failed")) return;
  const line: TaskLedgerLine = {
    sha256: task.sha256,
    file: task.fileName,
    outcome: record.status,
    swarmId,
    at: project.host.clock().toISOString(),
  };
  const known = newestLedgerLineBySha256(await ledger.read()).get(line.sha256);
  if (known?.swarmId !== swarmId || known.outcome !== line.outcome) await ledger.add([line]);
}
