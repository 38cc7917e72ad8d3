import type { ProjectRef } from "../contract/swarm-state.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/lock.ts";
import type { LedgerFile, TaskFolder } from "../tasks/project-files-port.ts";
import { newestLedgerLineBySha256, type TaskLedgerLine } from "../tasks/rules/ledger.ts";
import { describeHolder } from "../text/lock-holder.ts";
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
import type { StateStore } from "./state-store-port.ts";

export interface ChangeStateDeps {
  readonly store: StateStore;
  readonly owner: Pick<Lock, "holder">;
  readonly ledger: Pick<LedgerFile, "add" | "read">;
  readonly folder: Pick<TaskFolder, "read">;
  readonly clock: () => Date;
}

/** Creates the state of a new swarm; with `force`, archives the present state first. */
export async function initState(
  deps: ChangeStateDeps,
  { project, swarmId, force }: { project: ProjectRef; swarmId: string; force: boolean },
): Promise<SwarmState> {
  await throwIfSwarmOwned(deps);
  const state = newSwarmState(project, swarmId, deps.clock());
  return force ? deps.store.replace(state) : deps.store.create(state);
}

/**
 * Adds a record with the status `pending` for a worker. Unlike the other changes in this file, this change is
 * allowed while another process owns the swarm.
 */
export async function addWorkerRecord(
  { store, clock }: ChangeStateDeps,
  container: Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName" | "containerId">,
): Promise<ContainerRecord> {
  const state = await store.update((before) => stateWithNewRecord(before, container, clock()));
  return requireRecord(state, container.containerName);
}

/**
 * Changes a worker's record. If the change ends the worker, also adds the outcome of its task to the ledger.
 */
export async function updateWorkerRecord(
  deps: ChangeStateDeps,
  name: string,
  change: RecordChange,
): Promise<ContainerRecord> {
  await throwIfSwarmOwned(deps);
  const state = await deps.store.update((before) =>
    stateWithChangedRecord(before, name, change, deps.clock()),
  );
  const record = requireRecord(state, name);
  if (change.status && isTerminalStatus(record.status)) await addToLedger(deps, state.swarmId, record);
  return record;
}

export async function removeWorkerRecord(deps: ChangeStateDeps, name: string): Promise<void> {
  await throwIfSwarmOwned(deps);
  await deps.store.update((before) => stateWithoutRecord(before, name));
}

/** Removes the records of ended workers from the state, and returns how many it removed. */
export async function removeEndedWorkerRecords(deps: ChangeStateDeps): Promise<number> {
  await throwIfSwarmOwned(deps);
  let removed = 0;
  await deps.store.update((before) => {
    const after = stateWithoutEndedRecords(before);
    removed = before.containers.length - after.containers.length;
    return removed > 0 ? after : before;
  });
  return removed;
}

/** Throws OWNED_BY_ANOTHER if a process owns the swarm, because then only the owner may change the state. */
export async function throwIfSwarmOwned({ owner }: Pick<ChangeStateDeps, "owner">): Promise<void> {
  const holder = await owner.holder();
  if (holder) throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(holder) });
}

async function addToLedger(
  { folder, ledger, clock }: ChangeStateDeps,
  swarmId: string,
  record: ContainerRecord,
): Promise<void> {
  // The ledger identifies a task by its file's content. If the task file is gone, no line can be added.
  const task = await folder.read(record.taskFilePath).catch(nullIfGone);
  if (!task || (record.status !== "completed" && record.status !== "failed")) return;
  const line: TaskLedgerLine = {
    sha256: task.sha256,
    file: task.fileName,
    outcome: record.status,
    swarmId,
    at: clock().toISOString(),
  };
  const known = newestLedgerLineBySha256(await ledger.read()).get(line.sha256);
  if (known?.swarmId !== swarmId || known.outcome !== line.outcome) await ledger.add([line]);
}

function nullIfGone(error: unknown): null {
  if (isError(error, "TASK_FILE_NOT_FOUND") || isError(error, "TASK_FILE_OUTSIDE")) return null;
  throw error;
}
