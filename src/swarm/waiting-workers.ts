import type { ContainerRecord, SwarmState } from "../contract/swarm-state.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { recordWithStatus } from "../state/rules/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import type { OwnerServices } from "./worker/owner-services.ts";
import type { UnpreparedWorker } from "./worker/worker.ts";

/**
 * Returns the workers that could start now, or, with `paused`, those that could start as soon as their pause
 * ends.
 */
export function findStartableWorkers(
  waiting: readonly UnpreparedWorker[],
  state: SwarmState,
  { startedNames }: OwnerLoopState,
  { paused, now }: { readonly paused: boolean; readonly now: Date },
): UnpreparedWorker[] {
  return waiting.filter(({ name, dependsOn }) => {
    const record = recordIn(state, name);
    return (
      !startedNames.has(name) &&
      record !== undefined &&
      !isTerminalStatus(record.status) &&
      dependsOn.every((other) => recordIn(state, other)?.status === "completed") &&
      isPaused(record, now) === paused
    );
  });
}

/** Reports to the user why each worker waits, but only if the reason has changed since the last report. */
export function reportWaiting(
  { events, time }: OwnerServices,
  waiting: readonly UnpreparedWorker[],
  state: SwarmState,
  { startedNames, waitReasonByName }: OwnerLoopState,
  whyNoSlot: string,
): void {
  for (const { name, slug, dependsOn } of waiting) {
    if (startedNames.has(name)) continue;
    const open = dependsOn
      .map((other) => recordIn(state, other))
      .find((record) => record && record.status !== "completed");
    const why = isPaused(recordIn(state, name), time.clock())
      ? "paused"
      : open
        ? `for worker ${workerSlug(open)}`
        : whyNoSlot;
    if (waitReasonByName.get(name) === why) continue;
    waitReasonByName.set(name, why);
    events.emit({ event: "waiting", worker: slug, why });
  }
}

/** Records a waiting worker as failed if another worker on which it depends has failed. */
export async function failBlockedWorkers(
  { store, events, time }: OwnerServices,
  waiting: readonly UnpreparedWorker[],
  found: SwarmState,
  owner: OwnerLoopState,
): Promise<SwarmState> {
  let state = found;
  for (;;) {
    const [blocked] = waiting.flatMap(({ name, slug, dependsOn }) => {
      const blamed = isIdle(state, name, owner) && failedAmong(state, dependsOn, owner);
      return blamed ? [{ name, slug, blamed }] : [];
    });
    if (!blocked) return state;
    const message = `the worker depends on ${workerSlug(blocked.blamed)}, which failed`;
    const reason = { code: "DEPENDENCY_FAILED", message };
    events.emit({ event: "skipped", worker: blocked.slug, reason });
    await store.change(blocked.name, (record) => recordWithStatus(record, "failed", reason, time.clock()));
    state = await store.read();
  }
}

export function haltAfterFailure(
  { events }: OwnerServices,
  { containers }: SwarmState,
  { startedNames, halt }: OwnerLoopState,
): void {
  const failed = containers.find(
    ({ containerName, status }) => status === "failed" && startedNames.has(containerName),
  );
  if (!failed) return;
  const reason = `worker ${workerSlug(failed)} failed, and --fail-fast is set`;
  events.emit({ event: "stopping", why: reason });
  halt({ reason, graceMs: 10_000 });
}

function recordIn({ containers }: SwarmState, name: string): ContainerRecord | undefined {
  return containers.find(({ containerName }) => containerName === name);
}

/**
 * Returns whether a worker is paused now. A pause whose end has passed does not count; its entry in the
 * record is removed when the worker starts.
 */
function isPaused(record: ContainerRecord | undefined, now: Date): boolean {
  const paused = record?.paused;
  return paused != null && (paused.until === null || Date.parse(paused.until) > now.getTime());
}

/**
 * Returns whether a worker waits for its start. A worker that was stopped while this process was the owner
 * does not wait, because only a resume or a retry continues it.
 */
function isIdle(state: SwarmState, name: string, { startedNames }: OwnerLoopState): boolean {
  const status = recordIn(state, name)?.status;
  return status === "pending" || (status === "stopped" && !startedNames.has(name));
}

/**
 * Returns the record of the first failed worker among `names`. Ignores a worker that is still supervised,
 * because it may get another attempt.
 */
function failedAmong(
  state: SwarmState,
  names: readonly string[],
  { running }: OwnerLoopState,
): ContainerRecord | undefined {
  return names
    .map((name) => recordIn(state, name))
    .find((record) => record?.status === "failed" && !running.has(record.containerName));
}
