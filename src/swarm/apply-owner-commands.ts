import type { ContainerRecord } from "../contract/swarm-state.ts";
import { requireExpected, type SwarmError } from "../errors/errors.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import {
  findPendingCommands,
  type OwnerCommand,
  stateWithoutOwnerCommand,
} from "../state/rules/owner-commands.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import type { OwnerServices } from "./worker/owner-services.ts";
import { ifContainerRuns, unpauseWorker } from "./worker/pause-worker.ts";
import { recordWorkerEnd } from "./worker/record-worker-end.ts";
import { retryWorkers } from "./worker/retry-workers.ts";

/** The time in milliseconds within which agents must end by themselves after a stop command. */
const stopGraceMs = 10_000;
const pausedByUser = "the user paused the worker";

/**
 * Applies the commands for the owner that other processes have written into the state, and removes each
 * command when it is done. Returns the state after these changes.
 */
export async function applyOwnerCommands(
  deps: OwnerServices,
  owner: OwnerLoopState,
  state: SwarmState,
): Promise<SwarmState> {
  const commands = findPendingCommands(state);
  for (const command of commands) {
    const worker = command.of === "container" ? { worker: await slugOf(deps, command) } : {};
    try {
      const isDone =
        command.of === "swarm"
          ? await applyToAll(deps, owner, command)
          : await applyToWorker(deps, owner, command);
      if (!isDone) continue;
      deps.events.emit({ event: "wish", wish: command.wish, ...worker });
    } catch (error) {
      requireExpected(error);
      // Reports and clears a command that fails. The other commands are still applied.
      const reason = { code: error.code, message: withHint(error) };
      deps.events.emit({ event: "wish", wish: command.wish, ...worker, reason });
    }
    await deps.store.update((now) => stateWithoutOwnerCommand(now, command));
  }
  return commands.length === 0 ? state : deps.store.read();
}

async function slugOf(deps: OwnerServices, { name }: { readonly name: string }): Promise<string> {
  const record = (await deps.store.read()).containers.find(({ containerName }) => containerName === name);
  return record ? workerSlug(record) : name;
}

async function applyToAll(
  deps: OwnerServices,
  owner: OwnerLoopState,
  { wish }: Extract<OwnerCommand, { of: "swarm" }>,
): Promise<boolean> {
  if (wish === "stop") {
    owner.halt({ reason: "the user stopped the swarm", graceMs: stopGraceMs });
    return owner.running.size === 0;
  }
  let isDone = true;
  const failures: SwarmError[] = [];
  for (const { containerName: name, status } of (await deps.store.read()).containers) {
    if (isTerminalStatus(status)) continue;
    try {
      isDone = (await applyToWorker(deps, owner, { of: "container", name, wish })) && isDone;
    } catch (error) {
      requireExpected(error);
      // Continues with the other workers if the command fails for one worker.
      failures.push(error);
    }
  }
  const [failure] = failures;
  if (failure) throw failure;
  return isDone;
}

/** Returns an error's message and hint in one text, because an event has no field for a hint. */
function withHint({ message, hint }: SwarmError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/**
 * Applies a command to one worker. Returns false if the command takes effect only later, for example because
 * a worker takes time to stop.
 */
async function applyToWorker(
  deps: OwnerServices,
  owner: OwnerLoopState,
  { name, wish }: Extract<OwnerCommand, { of: "container" }>,
): Promise<boolean> {
  const record = await deps.store.record(name);
  switch (wish) {
    case "stop":
      return stop(deps, owner, record);
    case "pause":
      return pause(deps, owner, record);
    case "unpause":
      await unpause(deps, owner, record);
      return true;
    case "retry":
      return retry(deps, owner, record);
  }
}

async function stop(
  deps: OwnerServices,
  { running, startedNames }: OwnerLoopState,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status } = record;
  const handle = running.get(name);
  if (handle) {
    handle.stop({ reason: "the user stopped the worker", graceMs: stopGraceMs });
    return false;
  }
  startedNames.add(name);
  const reason = { code: "INTERRUPTED", message: "the user stopped the worker" };
  if (status === "pending")
    await recordWorkerEnd(deps, { name, slug: workerSlug(record) }, { status: "stopped", reason });
  return true;
}

/**
 * Pauses a worker. Returns false if the worker's container is just being created or started; the owner then
 * tries again later.
 */
async function pause(
  { sandboxes, store, events, time }: OwnerServices,
  { running }: OwnerLoopState,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status, paused } = record;
  if (isTerminalStatus(status)) return true;
  if (paused !== null) {
    // Turns a pause for a rate limit into a pause by the user, which has no end.
    if (paused.until !== null)
      await store.change(name, (now) => ({
        ...now,
        paused: now.paused && { ...now.paused, reason: pausedByUser, until: null },
      }));
    return true;
  }
  if (running.has(name)) {
    if (status !== "running") return false;
    if (!(await ifContainerRuns(sandboxes.containers.pause(name, time.signal)))) return false;
  }
  const since = time.clock().toISOString();
  await store.change(name, (now) => ({ ...now, paused: { reason: pausedByUser, since, until: null } }));
  events.emit({ event: "paused", worker: workerSlug(record), why: pausedByUser });
  return true;
}

async function unpause(
  deps: OwnerServices,
  { running }: OwnerLoopState,
  record: ContainerRecord,
): Promise<void> {
  const { containerName: name, paused } = record;
  if (paused === null) return;
  const handle = running.get(name);
  if (handle) await unpauseWorker(deps, record, handle.resumed);
  else await deps.store.change(name, (now) => ({ ...now, paused: null }));
  deps.events.emit({ event: "unpaused", worker: workerSlug(record), why: "the user unpaused the worker" });
}

/**
 * Plans the next attempt of a failed worker, or the continuation of a stopped worker. Also sets all workers
 * that were skipped because of a failed dependency back to `pending`.
 */
async function retry(
  deps: OwnerServices,
  { running, startedNames, isEnding }: OwnerLoopState,
  { containerName: name, status }: ContainerRecord,
): Promise<boolean> {
  // Leaves the command in the state: the process that sent it then finds no owner left, and retries the
  // worker itself.
  if (isEnding()) return false;
  // An unfinished worker needs no retry. For a worker that has just ended, the command waits until its
  // supervision has ended.
  if (running.has(name)) return status === "pending" || status === "running";
  startedNames.delete(name);
  await retryWorkers(deps, [name]);
  return true;
}
