import type { ContainerRecord, SwarmState } from "../domain/generated/swarm-state.ts";
import { movedTo } from "../domain/swarm-state.ts";
import { type EquipDeps, equipWorker, type WaitingWorker } from "./equip-worker.ts";
import { runWorker } from "./run-worker.ts";
import type { SwarmDeps } from "./swarm-deps.ts";

export interface OwnedSwarm {
  readonly workers: readonly WaitingWorker[];
  /** How many at once. */
  readonly parallel: number;
}

/**
 * Carries out the workers, so many at a time, each when what it depends on is completed, until none is left that could go on.
 * With `halt` no worker is begun any more, and those that run are asked to stop; with `lost`, the ownership, none is begun.
 */
export async function ownSwarm(
  deps: EquipDeps,
  swarm: OwnedSwarm,
  { halt, lost }: { readonly halt: AbortSignal; readonly lost: AbortSignal },
): Promise<SwarmState> {
  const running = new Map<string, Promise<void>>();
  const failures: unknown[] = [];
  const begun = new Set<string>();
  for (;;) {
    const state = await skipBlocked(deps, swarm);
    const ready = halt.aborted || lost.aborted ? [] : readyWorkers(swarm, state, begun);
    for (const worker of ready.slice(0, Math.max(0, swarm.parallel - running.size))) {
      begun.add(worker.name);
      deps.tell({ event: "started", worker: worker.slug });
      running.set(
        worker.name,
        carryOut(deps, worker, halt)
          // One worker's trouble is no other's.
          .catch((error: unknown) => void failures.push(error))
          .finally(() => running.delete(worker.name)),
      );
    }
    if (running.size === 0) break;
    await Promise.race(running.values());
  }
  if (failures.length > 0) throw failures[0];
  return deps.read();
}

async function carryOut(deps: EquipDeps, waiting: WaitingWorker, halt: AbortSignal): Promise<void> {
  const worker = await equipWorker(deps, waiting);
  if (worker !== null) await runWorker(deps, worker, halt);
}

const recordIn = (state: SwarmState, name: string): ContainerRecord | undefined =>
  state.containers.find(({ containerName }) => containerName === name);

function readyWorkers(
  { workers }: OwnedSwarm,
  state: SwarmState,
  begun: ReadonlySet<string>,
): WaitingWorker[] {
  return workers.filter(({ name, dependsOn }) => {
    const status = recordIn(state, name)?.status;
    if (begun.has(name) || status === undefined || status === "completed" || status === "failed")
      return false;
    return dependsOn.every((other) => recordIn(state, other)?.status === "completed");
  });
}

/** What depends on something that failed cannot be begun. */
async function skipBlocked(deps: SwarmDeps, { workers }: OwnedSwarm): Promise<SwarmState> {
  for (;;) {
    const state = await deps.read();
    const blocked = workers.find(
      ({ name, dependsOn }) =>
        recordIn(state, name)?.status === "pending" && blameIn(state, dependsOn) !== null,
    );
    if (!blocked) return state;
    const message = `it depends on ${blameIn(state, blocked.dependsOn)}, which failed`;
    const reason = { code: "DEPENDENCY_FAILED", message };
    deps.tell({ event: "skipped", worker: blocked.slug, reason });
    await deps.change(blocked.name, (record) => movedTo(record, "failed", reason, deps.clock()));
  }
}

function blameIn(state: SwarmState, names: readonly string[]): string | null {
  return names.find((name) => recordIn(state, name)?.status === "failed") ?? null;
}
