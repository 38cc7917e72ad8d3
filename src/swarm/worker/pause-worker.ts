import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { isError } from "../../errors/errors.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { OwnerEvents, OwnerServices, OwnerTime, SwarmStore, WorkerSandboxes } from "./owner-services.ts";

const modelLimit = "rate limit of the model's API";

/** What pauses a worker: `OwnerServices` satisfies it, and so does what the gateway's supervisor has. */
export interface PausingServices {
  readonly store: Pick<SwarmStore, "record" | "change">;
  readonly sandboxes: Pick<WorkerSandboxes, "canPause"> & {
    readonly containers: Pick<WorkerSandboxes["containers"], "pause">;
  };
  readonly events: Pick<OwnerEvents, "emit">;
  readonly time: Pick<OwnerTime, "clock" | "signal">;
}

/**
 * Pauses a worker until the rate limit of its model ends, because a paused container uses no CPU. On an engine
 * that cannot pause, the container keeps running, and the agent itself waits. `until` is the time of that end,
 * in milliseconds since 1970.
 */
export async function pauseWorkerForRateLimit(
  { store, sandboxes, events, time }: PausingServices,
  name: string,
  until: number,
): Promise<void> {
  const record = await store.record(name);
  const { status, paused } = record;
  if (isTerminalStatus(status) || (paused !== null && isAtLeast(paused, until))) return;
  if (status === "running" && paused === null && sandboxes.canPause) {
    const isPaused = await ifContainerRuns(sandboxes.containers.pause(name, time.signal));
    if (!isPaused) return;
  }
  const since = paused?.since ?? time.clock().toISOString();
  const at = { since, until: new Date(until).toISOString() };
  await store.change(name, (now) => ({ ...now, paused: { reason: modelLimit, ...at } }));
  events.emit({ event: "paused", worker: workerSlug(record), why: modelLimit, until: at.until });
}

/**
 * Returns whether a worker's pause lasts until the time `end` or longer. A pause that the user ordered has no
 * end.
 */
function isAtLeast({ until }: NonNullable<ContainerRecord["paused"]>, end: number): boolean {
  return until === null || Date.parse(until) >= end;
}

/** Unpauses the container of a paused worker, and reports to the worker's adapter how long the pause was. */
export async function unpauseWorker(
  { sandboxes: { containers }, store, time }: Pick<OwnerServices, "sandboxes" | "store" | "time">,
  { containerName: name, paused }: ContainerRecord,
  resumed: (pausedMs: number) => Promise<void>,
): Promise<void> {
  if (paused === null) return;
  const facts = await containers.inspect(name, undefined, time.signal);
  if (facts?.state === "paused") await containers.unpause(name, time.signal);
  await resumed(Math.max(0, time.clock().getTime() - Date.parse(paused.since)));
  await store.change(name, (now) => ({ ...now, paused: null }));
}

/** Waits for an action on a running container. Returns false if the container has just ended by itself. */
export async function ifContainerRuns(acting: Promise<void>): Promise<boolean> {
  try {
    await acting;
    return true;
  } catch (error) {
    if (isError(error, "CONTAINER_NOT_RUNNING") || isError(error, "CONTAINER_GONE")) return false;
    throw error;
  }
}
