import { isTerminal } from "../domain/container-status.ts";
import { isError, SwarmError } from "../domain/errors.ts";
import type { ContainerRecord } from "../domain/generated/swarm-state.ts";
import { workerSlug } from "../domain/slug.ts";
import { findContainer, movedTo, type SwarmState } from "../domain/swarm-state.ts";
import { openWishes, type Wish, withoutWish } from "../domain/wishes.ts";
import type { Owning } from "./own-swarm.ts";
import { retryWorkers } from "./retry-workers.ts";
import type { SwarmDeps } from "./swarm-deps.ts";
import { unpauseWorker } from "./unpause-worker.ts";

/** How long agents may take to end by themselves when somebody wishes that they stop. */
const wishGraceMs = 10_000;

/** Does what other commands ask for, and clears each wish once it is done. The state after that. */
export async function obeyWishes(deps: SwarmDeps, owning: Owning, state: SwarmState): Promise<SwarmState> {
  const wishes = openWishes(state);
  for (const wish of wishes) {
    const worker = wish.of === "container" ? { worker: await slugOf(deps, wish) } : {};
    try {
      const isDone =
        wish.of === "swarm" ? await obeyForAll(deps, owning, wish) : await obey(deps, owning, wish);
      if (!isDone) continue;
      deps.tell({ event: "wish", wish: wish.wish, ...worker });
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      // A wish that cannot be granted ends nothing else.
      const reason = { code: error.code, message: withHint(error) };
      deps.tell({ event: "wish", wish: wish.wish, ...worker, reason });
    }
    await deps.update((now) => withoutWish(now, wish));
  }
  return wishes.length === 0 ? state : deps.read();
}

async function slugOf(deps: SwarmDeps, { name }: { readonly name: string }): Promise<string> {
  const record = (await deps.read()).containers.find(({ containerName }) => containerName === name);
  return record ? workerSlug(record) : name;
}

async function obeyForAll(
  deps: SwarmDeps,
  owning: Owning,
  { wish }: Extract<Wish, { of: "swarm" }>,
): Promise<boolean> {
  if (wish === "stop") {
    owning.halt({ reason: "asked to stop", graceMs: wishGraceMs });
    return owning.running.size === 0;
  }
  let isDone = true;
  const failures: SwarmError[] = [];
  for (const { containerName: name, status } of (await deps.read()).containers) {
    if (isTerminal(status)) continue;
    try {
      isDone = (await obey(deps, owning, { of: "container", name, wish })) && isDone;
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      // One that is stuck keeps none of the others waiting.
      failures.push(error);
    }
  }
  const [failure] = failures;
  if (failure) throw failure;
  return isDone;
}

/** In an event there is no other place for what to do. */
function withHint({ message, hint }: SwarmError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** Whether it is done by now; a worker takes its time to stop. */
async function obey(
  deps: SwarmDeps,
  owning: Owning,
  { name, wish }: Extract<Wish, { of: "container" }>,
): Promise<boolean> {
  const record = findContainer(await deps.read(), name);
  switch (wish) {
    case "stop":
      return stop(deps, owning, record);
    case "pause":
      return pause(deps, owning, record);
    case "unpause":
      await unpause(deps, owning, record);
      return true;
    case "retry":
      return retry(deps, owning, record);
  }
}

async function stop(
  { change, clock, tell }: SwarmDeps,
  { running, begun }: Owning,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status } = record;
  const kept = running.get(name);
  if (kept) {
    kept.stop({ reason: "asked to stop", graceMs: wishGraceMs });
    return false;
  }
  begun.add(name);
  if (status !== "pending") return true;
  const reason = { code: "INTERRUPTED", message: "it was asked to stop" };
  tell({ event: "ended", worker: workerSlug(record), status: "stopped", reason });
  await change(name, (now) => movedTo(now, "stopped", reason, clock()));
  return true;
}

/** Not done while its container is only being made or started: whoever does that knows of no pause. */
async function pause(
  { containers, change, clock, tell, signal }: SwarmDeps,
  { running }: Owning,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status, paused } = record;
  if (isTerminal(status)) return true;
  if (paused !== null) {
    // One that would end by itself does not any more.
    if (paused.until !== null) await change(name, withPauseAskedFor);
    return true;
  }
  if (running.has(name)) {
    if (status !== "running") return false;
    try {
      await containers.pause(name, signal);
    } catch (error) {
      if (isError(error, "CONTAINER_NOT_RUNNING") || isError(error, "CONTAINER_GONE")) return false;
      throw error;
    }
  }
  const since = clock().toISOString();
  await change(name, (now) => ({ ...now, paused: { reason: "asked to pause", since, until: null } }));
  tell({ event: "paused", worker: workerSlug(record), why: "asked to pause" });
  return true;
}

function withPauseAskedFor(record: ContainerRecord): ContainerRecord {
  return { ...record, paused: record.paused && { ...record.paused, reason: "asked to pause", until: null } };
}

async function unpause(deps: SwarmDeps, { running }: Owning, record: ContainerRecord): Promise<void> {
  const { containerName: name, paused } = record;
  if (paused === null) return;
  const kept = running.get(name);
  if (kept) await unpauseWorker(deps, record, kept.resumed);
  else await deps.change(name, (now) => ({ ...now, paused: null }));
  deps.tell({ event: "unpaused", worker: workerSlug(record), why: "asked to go on" });
}

/** A failed worker gets its next attempt, and whatever was skipped because of it is waited with again. A stopped one goes on. */
async function retry(
  deps: SwarmDeps,
  { running, begun, isEnding }: Owning,
  { containerName: name, status }: ContainerRecord,
): Promise<boolean> {
  // Whoever wishes it sees that nobody is left to do it, and does it.
  if (isEnding()) return false;
  // One that comes to its end right now is let do so first.
  if (running.has(name)) return status === "pending" || status === "running";
  begun.delete(name);
  await retryWorkers(deps, [name]);
  return true;
}
