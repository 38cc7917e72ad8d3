import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import { requireExpected } from "../errors/errors.ts";
import { alarmAfter } from "../text/alarm.ts";
import { workerSlug } from "../text/slugs.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import type { OwnerServices } from "./worker/owner-services.ts";
import { pauseWorkerForRateLimit, unpauseWorker } from "./worker/pause-worker.ts";
import type { UnpreparedWorker } from "./worker/worker.ts";

const againMs = 10_000;

/**
 * Records a pause for a worker that is due to start, if its model is rate-limited. Returns whether the worker
 * must not start now.
 */
export async function pauseWorkerIfRateLimited(
  deps: OwnerServices,
  worker: UnpreparedWorker,
): Promise<boolean> {
  const until = deps.networkAccess.limitedUntil(worker);
  if (until === null) return false;
  if ((await deps.store.record(worker.name)).status === "running") return false;
  await pauseWorkerForRateLimit(deps, worker.name, until);
  return true;
}

/** Unpauses the running workers whose pause is over. Returns the state after these changes. */
export async function unpauseDueWorkers(
  deps: OwnerServices,
  { running }: Pick<OwnerLoopState, "running">,
  state: SwarmState,
  now: Date,
): Promise<SwarmState> {
  const { store, events } = deps;
  const over = state.containers.filter((record) => isOver(record, now));
  for (const record of over) {
    const handle = running.get(record.containerName);
    // Skips a worker that does not run yet, because starting a worker clears its pause.
    if (handle === undefined) continue;
    const worker = workerSlug(record);
    try {
      await unpauseWorker(deps, record, handle.resumed);
      events.emit({ event: "unpaused", worker, why: "the rate limit of the model's API has ended" });
    } catch (error) {
      requireExpected(error);
      // The engine may be unreachable. Extends the pause of this worker, and continues with the other
      // workers.
      const until = new Date(now.getTime() + againMs).toISOString();
      events.emit({ event: "line", worker, status: "lost", why: error.message });
      await store.change(record.containerName, ({ paused, ...others }) => ({
        ...others,
        paused: paused && { ...paused, until },
      }));
    }
  }
  return over.length === 0 ? state : store.read();
}

/**
 * Calls `wake` when the next pause of a worker ends. Ignores pauses that ended before `lookedAt`, because
 * `unpauseDueWorkers` has already handled them.
 */
export function notifyWhenNextPauseEnds(
  { time }: Pick<OwnerServices, "time">,
  { containers }: SwarmState,
  lookedAt: Date,
  wake: () => void,
): Disposable {
  const ends = containers.flatMap(({ paused }) => (paused?.until ? Date.parse(paused.until) : []));
  const next = Math.min(...ends.filter((until) => until > lookedAt.getTime()));
  return alarmAfter(next - time.clock().getTime(), wake);
}

function isOver({ paused }: ContainerRecord, now: Date): boolean {
  return paused?.until != null && Date.parse(paused.until) <= now.getTime();
}
