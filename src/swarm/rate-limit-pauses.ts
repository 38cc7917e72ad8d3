import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { requireRecord } from "../state/rules/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import { pauseWorkerForRateLimit } from "./worker/pause-for-rate-limit.ts";
import type { UnpreparedWorker } from "./worker/prepare-worker.ts";
import type { SwarmOwnerDeps } from "./worker/swarm-owner-deps.ts";
import { unpauseWorker } from "./worker/unpause-worker.ts";

const againMs = 10_000;

/**
 * Records a pause for a worker that is due to start, if its model is rate-limited. Returns whether the worker
 * must not start now.
 */
export async function pauseWorkerIfRateLimited(
  deps: SwarmOwnerDeps,
  worker: UnpreparedWorker,
): Promise<boolean> {
  const until = deps.networkAccess.limitedUntil(worker);
  if (until === null) return false;
  const { status } = requireRecord(await deps.read(), worker.name);
  if (status === "running") return false;
  await pauseWorkerForRateLimit(deps, worker.name, until);
  return true;
}

/** Unpauses the running workers whose pause is over. Returns the state after these changes. */
export async function unpauseDueWorkers(
  deps: SwarmOwnerDeps,
  { running }: Pick<OwnerLoopState, "running">,
  state: SwarmState,
  now: Date,
): Promise<SwarmState> {
  const over = state.containers.filter((record) => isOver(record, now));
  for (const record of over) {
    const handle = running.get(record.containerName);
    // Skips a worker that does not run yet, because starting a worker clears its pause.
    if (handle === undefined) continue;
    try {
      await unpauseWorker(deps, record, handle.resumed);
      deps.emit({
        event: "unpaused",
        worker: workerSlug(record),
        why: "the rate limit of the model's API has ended",
      });
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      // The engine may be unreachable. Extends the pause of this worker, and continues with the other
      // workers.
      const until = new Date(now.getTime() + againMs).toISOString();
      deps.emit({ event: "line", worker: workerSlug(record), status: "lost", why: error.message });
      await deps.change(record.containerName, ({ paused, ...others }) => ({
        ...{ ...others, paused: paused && { ...paused, until } },
      }));
    }
  }
  return over.length === 0 ? state : deps.read();
}

/**
 * The maximum delay of a timer in milliseconds. `setTimeout` would fire at once for a longer delay. A timer
 * that fires before the pause has ended does no harm.
 */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Calls `wake` when the next pause of a worker ends. Ignores pauses that ended before `lookedAt`, because
 * `unpauseDueWorkers` has already handled them.
 */
export function notifyWhenNextPauseEnds(
  { clock }: Pick<SwarmOwnerDeps, "clock">,
  { containers }: SwarmState,
  lookedAt: Date,
  wake: () => void,
): Disposable {
  const ends = containers.flatMap(({ paused }) => (paused?.until ? Date.parse(paused.until) : []));
  const next = Math.min(...ends.filter((until) => until > lookedAt.getTime()));
  const ms = Math.min(Math.max(0, next - clock().getTime()), maxTimerMs);
  const timer = Number.isFinite(next) ? setTimeout(wake, ms) : undefined;
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

function isOver({ paused }: ContainerRecord, now: Date): boolean {
  return paused?.until != null && Date.parse(paused.until) <= now.getTime();
}
