import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import type { Lock } from "../machine/locks/lock.ts";
import type { Project } from "../project/project.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import type { StateStore } from "../state/state-store.ts";
import { watchState } from "../state/watch-state.ts";
import { alarmAfter } from "../text/alarm.ts";
import { workerSlug } from "../text/slugs.ts";
import { pollSwarm, type WatchSwarm } from "./poll-swarm.ts";

export interface WaitDeps {
  readonly store: Pick<StateStore, "read">;
  readonly owner: Pick<Lock, "holder">;
  readonly watch: WatchSwarm;
}

export interface WaitRequest {
  /**
   * The slugs of the workers to wait for. Null means all workers of the swarm, including those that are added
   * during the wait.
   */
  readonly slugs: readonly string[] | null;
  readonly timeoutMs: number | null;
  /** Called once for each of these workers when it has ended. */
  readonly onEnded: (record: ContainerRecord) => void;
}

/**
 * How a wait ended. `unowned` means that no owner runs the swarm, and `replaced` that a new swarm has taken
 * its place.
 */
export type WaitEndReason = "ended" | "timeout" | "unowned" | "replaced";

/** How a wait ended, and the state of the workers at that time. */
export interface WaitResult {
  readonly end: WaitEndReason;
  readonly state: SwarmState;
  readonly workers: readonly ContainerRecord[];
}

/** Waits for workers of this worktree's swarm. */
export async function waitForWorkers(
  project: Pick<Project, "state">,
  request: WaitRequest,
  signal: AbortSignal,
): Promise<WaitResult> {
  const [store, owner, stateFile] = await Promise.all([
    project.state.store(),
    project.state.owner(),
    project.state.path(),
  ]);
  const watch: WatchSwarm = (onChange, ending) => watchState(stateFile, onChange, ending);
  return waitUntilEnded({ store, owner, watch }, request, signal);
}

/**
 * Waits until all given workers are completed or failed, until the time is over, or until no process owns the
 * swarm.
 */
export async function waitUntilEnded(
  { store, owner, watch }: WaitDeps,
  { slugs, timeoutMs, onEnded }: WaitRequest,
  signal: AbortSignal,
): Promise<WaitResult> {
  signal.throwIfAborted();
  let last = await store.read();
  const reported = new Set<string>();
  const answer = Promise.withResolvers<WaitEndReason>();
  const { resolve } = answer;

  const poll = async (over: AbortSignal): Promise<void> => {
    // Reads the lock before the state. If the owner has ended by then, the state holds its last writes.
    const isOwned = (await owner.holder()) !== null;
    const state = await store.read();
    if (over.aborted) return;
    if (state.swarmId !== last.swarmId) return resolve("replaced");
    last = state;
    const workers = chosenIn(state, slugs);
    for (const record of workers) {
      if (!isTerminalStatus(record.status) || reported.has(record.containerName)) continue;
      reported.add(record.containerName);
      onEnded(record);
    }
    if (workers.every(({ status }) => isTerminalStatus(status))) {
      // A running owner may still start another attempt of a failed worker. If it does not, it ends.
      const isFinal = slugs !== null || !isOwned || workers.every(({ status }) => status === "completed");
      if (isFinal) resolve("ended");
    } else if (!isOwned) resolve("unowned");
  };

  using _timeout = timeoutMs === null ? null : alarmAfter(timeoutMs, () => resolve("timeout"));
  const end = await pollSwarm(answer, poll, watch, signal);
  return { end, state: last, workers: chosenIn(last, slugs) };
}

function chosenIn({ containers }: SwarmState, slugs: WaitRequest["slugs"]): readonly ContainerRecord[] {
  return slugs === null ? containers : containers.filter((record) => slugs.includes(workerSlug(record)));
}
