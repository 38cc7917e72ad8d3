import { type Correction, type Observed, reconcile } from "../domain/reconcile.ts";
import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
import { type LabelledContainer, labels } from "../ports/engine.ts";

export interface Compared {
  readonly corrections: readonly Correction[];
  /** Containers of this worktree without a record. */
  readonly orphans: readonly LabelledContainer[];
}

export interface CompareContext {
  readonly ownerAlive: boolean;
  /** Names of existing volumes; empty if no container is missing. */
  readonly volumes: readonly string[];
  /** The commit of the newest checkpoint in a record's host journal. */
  readonly lastCheckpointOf: (record: ContainerRecord) => string | null;
}

/** The differences between the records and a list of containers. */
export function compareContainers(
  state: SwarmState,
  containers: readonly LabelledContainer[],
  { ownerAlive, volumes, lastCheckpointOf }: CompareContext,
): Compared {
  const missing = volumes
    .filter((name) => state.containers.some(({ containerName }) => containerName === name))
    .map((name): [string, Observed] => [name, { kind: "missing", volume: true }]);
  // Containers of gateways and checks hold no work, and the process that made them removes them.
  const workers = containers.filter(
    ({ labels: found }) => !["gateway", "check"].includes(found[labels.role] ?? ""),
  );
  const recordByName = new Map(state.containers.map((record) => [record.containerName, record]));
  const found = workers.map((container): [string, Observed] => [
    container.name,
    toObserved(container, state, recordByName.get(container.name)),
  ]);
  const { corrections, orphans } = reconcile(state.containers, new Map([...missing, ...found]), (record) => ({
    ownerAlive,
    lastCheckpoint: lastCheckpointOf(record),
  }));
  const orphanNames = new Set(orphans);
  return { corrections, orphans: containers.filter(({ name }) => orphanNames.has(name)) };
}

/** Whether a list must be from the recorded engine: only that one has a container with a recorded id. */
export function isOwnEngine(state: SwarmState, containers: readonly LabelledContainer[]): boolean {
  const ids = new Set(containers.map(({ containerId }) => containerId));
  return state.containers.some(({ containerId }) => containerId !== null && ids.has(containerId));
}

/** Whether the comparison needs the list of volumes: only if a container that should exist is missing. */
export function needsVolumes(state: SwarmState, containers: readonly LabelledContainer[]): boolean {
  const names = new Set(containers.map(({ name }) => name));
  return state.containers.some(
    ({ status, containerId, containerName }) =>
      (status === "pending" || status === "running") && containerId !== null && !names.has(containerName),
  );
}

/** Whether the comparison needs a record's journal: a container that ended may have left uncollected work. */
export function needsJournal({ status, containerId }: ContainerRecord): boolean {
  return containerId !== null && status !== "pending" && status !== "running";
}

function toObserved(
  { containerId, state, labels: found }: LabelledContainer,
  swarm: SwarmState,
  record: ContainerRecord | undefined,
): Observed {
  const labelsAgree =
    found[labels.project] === swarm.project.id &&
    found[labels.swarm] === swarm.swarmId &&
    found[labels.taskFile] === record?.taskFilePath &&
    found[labels.attempt] === String(record?.attempt);
  return { kind: state, containerId, labelsAgree };
}
