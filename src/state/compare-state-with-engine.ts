import type { ContainerEngine, EngineWorktreeScope } from "../engine/engine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/locks/lock.ts";
import type { JournalSummary } from "../protocol/host-journal.ts";
import {
  areContainersOnRecordedEngine,
  type ContainerComparison,
  compareRecordsWithContainers,
  comparisonNeedsJournal,
  comparisonNeedsVolumes,
} from "./compare-records.ts";
import { refuseOtherProject } from "./project-identity.ts";
import type { SwarmState } from "./rules/swarm-state.ts";
import type { StateStore } from "./state-store.ts";

export interface CheckStateDeps {
  readonly store: Pick<StateStore, "find">;
  readonly owner: Pick<Lock, "holder">;
  /**
   * Returns the engine at the given endpoint, without checking that the engine answers. If the endpoint is
   * null, returns the first engine that answers, or null if none does.
   */
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
  /** Reads a summary of the messages that the host has received from a worker, from the host's journal. */
  readonly readJournal: (
    swarmId: string,
    worker: { readonly containerName: string; readonly taskFilePath: string },
  ) => Promise<JournalSummary | null>;
}

/** The state of the swarm, with the differences between its records and the engine's containers. */
export interface CheckedState extends ContainerComparison {
  readonly state: SwarmState | null;
  /** Whether an engine answered and the records could be compared with its containers. */
  readonly reconciled: boolean;
}

/**
 * Compares the records in the state with the engine's containers, and returns the differences. Lists the
 * containers once, and makes further calls to the engine only if the list does not confirm the records.
 */
export async function compareStateWithEngine(
  deps: CheckStateDeps,
  scope: EngineWorktreeScope,
): Promise<CheckedState> {
  const state = await deps.store.find();
  // Refuses another project before any engine is asked.
  refuseOtherProject(state, scope.projectId);
  try {
    const engine = await deps.findEngine(state?.engine?.endpoint ?? null);
    if (engine) return { state, reconciled: true, ...(await compare(deps, engine, state, scope)) };
  } catch (error) {
    if (!isError(error, "ENGINE_UNREACHABLE")) throw error;
  }
  return { state, reconciled: false, corrections: [], orphans: [] };
}

async function compare(
  deps: CheckStateDeps,
  engine: ContainerEngine,
  state: SwarmState | null,
  scope: EngineWorktreeScope,
): Promise<ContainerComparison> {
  const containers = await engine.listContainers(scope);
  if (!state) {
    if (containers.length > 0) throw new SwarmError("STATE_LOST", { containers: containers.length });
    return { corrections: [], orphans: [] };
  }
  if (!areContainersOnRecordedEngine(state, containers)) await refuseOtherEngine(state, engine);
  const ownerAlive = (await deps.owner.holder()) !== null;
  const checkpoints = await checkpointsOf(deps, state);
  const volumes = comparisonNeedsVolumes(state, containers) ? await engine.volumes(scope) : [];
  return compareRecordsWithContainers(state, containers, {
    ownerAlive,
    volumes: volumes.map(({ name }) => name),
    lastCheckpointOf: ({ containerName }) => checkpoints.get(containerName) ?? null,
  });
}

/** Throws ENGINE_CHANGED if the state names another engine than the given one. */
export async function refuseOtherEngine(
  { engine: recorded }: Pick<SwarmState, "engine">,
  engine: Pick<ContainerEngine, "info" | "endpoint">,
): Promise<void> {
  if (!recorded) return;
  const { id } = await engine.info();
  if (id !== recorded.id)
    throw new SwarmError("ENGINE_CHANGED", { endpoint: engine.endpoint, recorded: recorded.id, found: id });
}

async function checkpointsOf(
  { readJournal }: CheckStateDeps,
  { swarmId, containers }: SwarmState,
): Promise<Map<string, string | null>> {
  const entries = containers.filter(comparisonNeedsJournal).map(async (worker) => {
    const journal = await readJournal(swarmId, worker);
    return [worker.containerName, journal?.lastCheckpoint ?? null] as const;
  });
  return new Map(await Promise.all(entries));
}
