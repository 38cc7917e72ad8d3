import { type LabelledContainer, labels } from "../engine/engine.ts";
import type { ObservedContainer } from "../engine/rules/observed-container.ts";
import { type RecordCorrection, reconcileRecords } from "./rules/reconcile-records.ts";
import type { ContainerRecord, SwarmState } from "./rules/swarm-state.ts";

export interface ContainerComparison {
  readonly corrections: readonly RecordCorrection[];
  /** The containers that belong to this worktree but have no record in the state. */
  readonly orphans: readonly LabelledContainer[];
}

export interface CompareContainersInput {
  readonly ownerAlive: boolean;
  /**
   * The names of the existing volumes. The list may be empty if every recorded container exists, because
   * volumes matter only for missing containers.
   */
  readonly volumes: readonly string[];
  /**
   * Returns the commit of a worker's newest checkpoint, according to the host's journal of the messages from
   * this worker.
   */
  readonly lastCheckpointOf: (record: ContainerRecord) => string | null;
}

/** Compares the workers' records with the engine's containers, and returns the differences. */
export function compareRecordsWithContainers(
  state: SwarmState,
  containers: readonly LabelledContainer[],
  { ownerAlive: isOwnerAlive, volumes, lastCheckpointOf }: CompareContainersInput,
): ContainerComparison {
  const missing = volumes
    .filter((name) => state.containers.some(({ containerName }) => containerName === name))
    .map((name): [string, ObservedContainer] => [name, { kind: "missing", volume: true }]);
  // Leaves out containers of gateways and checks: they hold no work, and the process that created them
  // removes them.
  const workers = containers.filter(
    ({ labels: found }) => !["gateway", "check"].includes(found[labels.role] ?? ""),
  );
  const recordByName = new Map(state.containers.map((record) => [record.containerName, record]));
  const found = workers.map((container): [string, ObservedContainer] => [
    container.name,
    toObserved(container, state, recordByName.get(container.name)),
  ]);
  const { corrections, orphans } = reconcileRecords(
    state.containers,
    new Map([...missing, ...found]),
    (record) => ({
      isOwnerAlive,
      lastCheckpoint: lastCheckpointOf(record),
    }),
  );
  const orphanNames = new Set(orphans);
  return { corrections, orphans: containers.filter(({ name }) => orphanNames.has(name)) };
}

/**
 * Returns whether the listed containers are on the engine that the state names. One recorded container id in
 * the list proves this, because ids are unique.
 */
export function areContainersOnRecordedEngine(
  state: SwarmState,
  containers: readonly LabelledContainer[],
): boolean {
  const ids = new Set(containers.map(({ containerId }) => containerId));
  return state.containers.some(({ containerId }) => containerId !== null && ids.has(containerId));
}

/**
 * Returns whether the comparison needs the list of volumes. That is so only if a container that should exist
 * is missing.
 */
export function comparisonNeedsVolumes(state: SwarmState, containers: readonly LabelledContainer[]): boolean {
  const names = new Set(containers.map(({ name }) => name));
  return state.containers.some(
    ({ status, containerId, containerName }) =>
      (status === "pending" || status === "running") && containerId !== null && !names.has(containerName),
  );
}

/**
 * Returns whether the comparison needs the host's journal of messages from the worker. That is so only if the
 * worker has ended, because its container may still hold uncollected work.
 */
export function comparisonNeedsJournal({ status, containerId }: ContainerRecord): boolean {
  return containerId !== null && status !== "pending" && status !== "running";
}

function toObserved(
  { containerId, state, labels: found }: LabelledContainer,
  swarm: SwarmState,
  record: ContainerRecord | undefined,
): ObservedContainer {
  const labelsAgree =
    found[labels.project] === swarm.project.id &&
    found[labels.swarm] === swarm.swarmId &&
    found[labels.taskFile] === record?.taskFilePath &&
    found[labels.attempt] === String(record?.attempt);
  return { kind: state, containerId, labelsAgree };
}
