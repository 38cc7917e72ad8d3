import { type Correction, type Observed, reconcile } from "../domain/reconcile.ts";
import type { ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
import { type LabelledContainer, labels } from "../ports/engine.ts";

export interface Compared {
  readonly corrections: readonly Correction[];
  /** Containers of this worktree that no record knows. */
  readonly orphans: readonly LabelledContainer[];
}

export interface CompareContext {
  readonly ownerAlive: boolean;
  /** Names of volumes that are there, of records whose container is not. */
  readonly volumes: readonly string[];
  /** The commit of the newest checkpoint in the host's journal. */
  readonly lastCheckpointOf: (record: ContainerRecord) => string | null;
}

/** What does not agree between the records and a list of containers. */
export function compareContainers(
  state: SwarmState,
  containers: readonly LabelledContainer[],
  { ownerAlive, volumes, lastCheckpointOf }: CompareContext,
): Compared {
  const missing = volumes
    .filter((name) => state.containers.some(({ containerName }) => containerName === name))
    .map((name): [string, Observed] => [name, { kind: "missing", volume: true }]);
  // Whoever keeps a gateway or a check looks after it; it is nobody's work.
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

/** Whether a list can only be the recorded engine's: nobody else has a container of a recorded id. */
export function isOwnEngine(state: SwarmState, containers: readonly LabelledContainer[]): boolean {
  const ids = new Set(containers.map(({ containerId }) => containerId));
  return state.containers.some(({ containerId }) => containerId !== null && ids.has(containerId));
}

/** Whether it matters which volumes there are: that of a container that should be there, and is not. */
export function needsVolumes(state: SwarmState, containers: readonly LabelledContainer[]): boolean {
  const names = new Set(containers.map(({ name }) => name));
  return state.containers.some(
    ({ status, containerId, containerName }) =>
      (status === "pending" || status === "running") && containerId !== null && !names.has(containerName),
  );
}

/** Whether it matters what a record's journal says: work may have been left behind by a container that ended. */
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
