import type {
  ContainerRecord,
  ContainerStatus,
  ProjectRef,
  Reason,
  StoryProgress,
  SwarmState,
} from "../../contract/swarm-state.ts";
import { SwarmError } from "../../errors/errors.ts";
import { canChangeStatus, isTerminalStatus, nextStatuses } from "./container-status.ts";

export type { ContainerRecord, SwarmState };

/** Returns the initial state of a new swarm, without workers. */
export function newSwarmState(project: ProjectRef, swarmId: string, now: Date): SwarmState {
  const at = now.toISOString();
  return {
    version: 1,
    revision: 0,
    swarmId,
    project,
    engine: null,
    wish: null,
    createdAt: at,
    updatedAt: at,
    containers: [],
  };
}

/** Whether all workers of a swarm have ended. False if the swarm has no workers, since it has not begun. */
export function haveAllWorkersEnded({ containers }: SwarmState): boolean {
  return containers.length > 0 && !hasUnendedWorkers({ containers });
}

/** Whether at least one worker of a swarm has not ended. */
export function hasUnendedWorkers({ containers }: Pick<SwarmState, "containers">): boolean {
  return containers.some(({ status }) => !isTerminalStatus(status));
}

/** Counts a swarm's workers by status. */
export function countWorkersByStatus({ containers }: SwarmState): Record<ContainerStatus, number> {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, stopped: 0 };
  for (const { status } of containers) counts[status] += 1;
  return counts;
}

type NewContainer = Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName"> &
  Partial<ContainerRecord>;

/**
 * Adds the record of a new worker, which has not started. Throws if another record of the swarm has the same
 * container name or task file.
 */
export function stateWithNewRecord(state: SwarmState, container: NewContainer, now: Date): SwarmState {
  const { containerName, containerId, taskFilePath } = container;
  for (const other of state.containers) {
    if (other.containerName === containerName)
      throw new SwarmError("CONTAINER_EXISTS", { what: `a container ${containerName}` });
    if (containerId && other.containerId === containerId)
      throw new SwarmError("CONTAINER_EXISTS", { what: `the container id ${containerId}` });
    if (other.taskFilePath === taskFilePath)
      throw new SwarmError("CONTAINER_EXISTS", {
        what: `a container for ${taskFilePath}: ${other.containerName}`,
      });
  }
  const at = now.toISOString();
  const record: ContainerRecord = {
    containerId: null,
    status: "pending",
    storyProgress: { total: 0, completed: 0, failed: 0, inProgress: 0, pending: 0, skipped: 0 },
    createdAt: at,
    updatedAt: at,
    prUrl: null,
    acpPid: null,
    attempt: 1,
    baseCommit: null,
    stories: [],
    lastSeq: 0,
    reason: null,
    exitCode: null,
    usage: null,
    creating: null,
    paused: null,
    collecting: null,
    collected: null,
    branch: null,
    proof: null,
    wish: null,
    startedAt: null,
    finishedAt: null,
    ...container,
  };
  return { ...state, containers: [...state.containers, record] };
}

/** The fields of a worker's record that the user may change with the commands of `swarm state`. */
export interface RecordChange {
  readonly status?: ContainerStatus;
  readonly prUrl?: string | null;
  readonly storyProgress?: StoryProgress;
  readonly acpPid?: number | null;
  readonly containerId?: string;
}

/**
 * Changes a worker's record. Throws TRANSITION_REFUSED if the worker's status may not change from the old to
 * the new status.
 */
export function stateWithChangedRecord(
  state: SwarmState,
  name: string,
  change: RecordChange,
  now: Date,
): SwarmState {
  const record = requireRecord(state, name);
  const { status } = change;
  if (status !== undefined && !canChangeStatus(record.status, status)) {
    throw new SwarmError("TRANSITION_REFUSED", {
      name,
      from: record.status,
      to: status,
      allowed: nextStatuses(record.status),
    });
  }
  const { status: _moved, ...rest } = change;
  const changed = { ...record, ...rest, updatedAt: now.toISOString() };
  return stateWithReplacedRecord(
    state,
    status === undefined ? changed : recordWithStatus(changed, status, null, now),
  );
}

/**
 * Returns a worker's record with the given status and matching start and end times. The status `pending`
 * clears the times and the exit code.
 */
export function recordWithStatus(
  record: ContainerRecord,
  status: ContainerStatus,
  reason: Reason | null,
  now: Date,
): ContainerRecord {
  if (status === record.status) return record;
  const at = now.toISOString();
  const moved = { ...record, status, reason, updatedAt: at };
  if (status === "pending") return { ...moved, startedAt: null, finishedAt: null, exitCode: null };
  const startedAt = record.startedAt ?? at;
  return { ...moved, startedAt, finishedAt: status === "running" ? null : at };
}

/** Replaces the worker's record that has the same container name. */
export function stateWithReplacedRecord(state: SwarmState, record: ContainerRecord): SwarmState {
  return {
    ...state,
    containers: state.containers.map((other) =>
      other.containerName === record.containerName ? record : other,
    ),
  };
}

/** Removes the worker's record with this container name; throws if there is none. */
export function stateWithoutRecord(state: SwarmState, name: string): SwarmState {
  requireRecord(state, name);
  return { ...state, containers: state.containers.filter(({ containerName }) => containerName !== name) };
}

/**
 * Removes all workers' records except those of pending and running workers, as the older command
 * `swarm-cleanup` did.
 */
export function stateWithoutEndedRecords(state: SwarmState): SwarmState {
  return {
    ...state,
    containers: state.containers.filter(({ status }) => status === "pending" || status === "running"),
  };
}

/** Returns the worker's record with this container name; undefined if there is none. */
export function findRecord(
  { containers }: Pick<SwarmState, "containers">,
  name: string,
): ContainerRecord | undefined {
  return containers.find(({ containerName }) => containerName === name);
}

/** Returns the worker's record with this container name; throws if there is none. */
export function requireRecord(state: SwarmState, name: string): ContainerRecord {
  const record = findRecord(state, name);
  if (!record) throw new SwarmError("CONTAINER_UNKNOWN", { name });
  return record;
}
