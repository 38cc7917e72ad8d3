import { SwarmError } from "../domain/errors.ts";
import { type Correction, type Observed, reconcile } from "../domain/reconcile.ts";
import type { SwarmState } from "../domain/swarm-state.ts";
import { type ContainerEngine, type EngineScope, type LabelledContainer, labels } from "../ports/engine.ts";
import type { JournalSummary } from "../ports/journal.ts";
import type { Lock } from "../ports/lock.ts";
import type { StateStore } from "../ports/state-store.ts";

export interface CheckStateDeps {
  readonly store: Pick<StateStore, "find">;
  readonly owner: Pick<Lock, "holder">;
  /** The engine at that endpoint, or else the first one; null when it does not answer. */
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
  readonly readJournal: ReadJournal;
}

/** Reads the host's journal of a worker. */
export type ReadJournal = (
  swarmId: string,
  worker: { readonly containerName: string; readonly taskFilePath: string },
) => Promise<JournalSummary | null>;

/** What the state says beside what the engine says. */
export interface CheckedState {
  readonly state: SwarmState | null;
  /** Whether an engine was asked. */
  readonly reconciled: boolean;
  readonly corrections: readonly Correction[];
  /** Containers of this worktree that no record knows. */
  readonly orphans: readonly LabelledContainer[];
}

/** Compares the state with the engine and names what does not agree. Changes nothing. */
export async function checkState(deps: CheckStateDeps, scope: EngineScope): Promise<CheckedState> {
  const state = await deps.store.find();
  // A state of somebody else's could name an engine of theirs.
  if (state && state.project.id !== scope.projectId) {
    throw new SwarmError("PROJECT_MOVED", {
      was: `project ${state.project.id}`,
      is: `project ${scope.projectId}`,
    });
  }
  const engine = await deps.findEngine(state?.engine?.endpoint ?? null);
  if (!engine) return { state, reconciled: false, corrections: [], orphans: [] };

  const containers = await engine.observe(scope);
  if (!state) {
    if (containers.length > 0) throw new SwarmError("STATE_LOST", { containers: containers.length });
    return { state, reconciled: true, corrections: [], orphans: [] };
  }
  await refuseOtherEngine(state, engine);
  const ownerAlive = (await deps.owner.holder()) !== null;
  const checkpoints = await checkpointsOf(deps, state);
  const volumes = (await engine.volumes(scope)).map((name): [string, Observed] => [
    name,
    { kind: "missing", volume: true },
  ]);
  const found = containers.map((container): [string, Observed] => [
    container.name,
    toObserved(container, state),
  ]);
  const observed = new Map([
    ...volumes.filter(([name]) => state.containers.some(({ containerName }) => containerName === name)),
    ...found,
  ]);
  const { corrections, orphans } = reconcile(state.containers, observed, ({ containerName }) => ({
    ownerAlive,
    lastCheckpoint: checkpoints.get(containerName) ?? null,
  }));
  return {
    state,
    reconciled: true,
    corrections,
    orphans: containers.filter(({ name }) => orphans.includes(name)),
  };
}

async function refuseOtherEngine({ engine: recorded }: SwarmState, engine: ContainerEngine): Promise<void> {
  if (!recorded) return;
  const { id } = await engine.info();
  if (id !== recorded.id)
    throw new SwarmError("ENGINE_CHANGED", { endpoint: engine.endpoint, recorded: recorded.id, found: id });
}

async function checkpointsOf(
  { readJournal }: CheckStateDeps,
  { swarmId, containers }: SwarmState,
): Promise<Map<string, string | null>> {
  const entries = containers.map(async (worker) => {
    const journal = await readJournal(swarmId, worker);
    return [worker.containerName, journal?.lastCheckpoint ?? null] as const;
  });
  return new Map(await Promise.all(entries));
}

function toObserved(
  { name, containerId, state, labels: found }: LabelledContainer,
  swarm: SwarmState,
): Observed {
  const record = swarm.containers.find(({ containerName }) => containerName === name);
  const labelsAgree =
    found[labels.project] === swarm.project.id &&
    found[labels.swarm] === swarm.swarmId &&
    found[labels.taskFile] === record?.taskFilePath &&
    found[labels.attempt] === String(record?.attempt);
  return { kind: state, containerId, labelsAgree };
}
