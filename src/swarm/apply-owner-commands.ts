import type { ContainerRecord } from "../contract/swarm-state.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import {
  findPendingCommands,
  type OwnerCommand,
  stateWithoutOwnerCommand,
} from "../state/rules/owner-commands.ts";
import { recordWithStatus, requireRecord, type SwarmState } from "../state/rules/swarm-state.ts";
import { workerSlug } from "../text/slugs.ts";
import type { OwnerLoopState } from "./owner-loop-state.ts";
import { retryWorkers } from "./worker/retry-workers.ts";
import type { SwarmOwnerDeps } from "./worker/swarm-owner-deps.ts";
import { unpauseWorker } from "./worker/unpause-worker.ts";

/** The time in milliseconds within which agents must end by themselves after a stop command. */
const stopGraceMs = 10_000;

/**
 * Applies the commands for the owner that other processes have written into the state, and removes each
 * command when it is done. Returns the state after these changes.
 */
export async function applyOwnerCommands(
  deps: SwarmOwnerDeps,
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
      deps.emit({ event: "wish", wish: command.wish, ...worker });
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      // Reports and clears a command that fails. The other commands are still applied.
      const reason = { code: error.code, message: withHint(error) };
      deps.emit({ event: "wish", wish: command.wish, ...worker, reason });
    }
    await deps.update((now) => stateWithoutOwnerCommand(now, command));
  }
  return commands.length === 0 ? state : deps.read();
}

async function slugOf(deps: SwarmOwnerDeps, { name }: { readonly name: string }): Promise<string> {
  const record = (await deps.read()).containers.find(({ containerName }) => containerName === name);
  return record ? workerSlug(record) : name;
}

async function applyToAll(
  deps: SwarmOwnerDeps,
  owner: OwnerLoopState,
  { wish }: Extract<OwnerCommand, { of: "swarm" }>,
): Promise<boolean> {
  if (wish === "stop") {
    owner.halt({ reason: "the user stopped the swarm", graceMs: stopGraceMs });
    return owner.running.size === 0;
  }
  let isDone = true;
  const failures: SwarmError[] = [];
  for (const { containerName: name, status } of (await deps.read()).containers) {
    if (isTerminalStatus(status)) continue;
    try {
      isDone = (await applyToWorker(deps, owner, { of: "container", name, wish })) && isDone;
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
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
  deps: SwarmOwnerDeps,
  owner: OwnerLoopState,
  { name, wish }: Extract<OwnerCommand, { of: "container" }>,
): Promise<boolean> {
  const record = requireRecord(await deps.read(), name);
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
  { change, clock, emit }: SwarmOwnerDeps,
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
  if (status !== "pending") return true;
  const reason = { code: "INTERRUPTED", message: "the user stopped the worker" };
  emit({ event: "ended", worker: workerSlug(record), status: "stopped", reason });
  await change(name, (now) => recordWithStatus(now, "stopped", reason, clock()));
  return true;
}

/**
 * Pauses a worker. Returns false if the worker's container is just being created or started; the owner then
 * tries again later.
 */
async function pause(
  { containers, change, clock, emit, signal }: SwarmOwnerDeps,
  { running }: OwnerLoopState,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status, paused } = record;
  if (isTerminalStatus(status)) return true;
  if (paused !== null) {
    // Turns a pause for a rate limit into a pause by the user, which has no end.
    if (paused.until !== null) await change(name, withPauseByUser);
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
  await change(name, (now) => ({
    ...now,
    paused: { reason: "the user paused the worker", since, until: null },
  }));
  emit({ event: "paused", worker: workerSlug(record), why: "the user paused the worker" });
  return true;
}

function withPauseByUser(record: ContainerRecord): ContainerRecord {
  return {
    ...record,
    paused: record.paused && { ...record.paused, reason: "the user paused the worker", until: null },
  };
}

async function unpause(
  deps: SwarmOwnerDeps,
  { running }: OwnerLoopState,
  record: ContainerRecord,
): Promise<void> {
  const { containerName: name, paused } = record;
  if (paused === null) return;
  const handle = running.get(name);
  if (handle) await unpauseWorker(deps, record, handle.resumed);
  else await deps.change(name, (now) => ({ ...now, paused: null }));
  deps.emit({ event: "unpaused", worker: workerSlug(record), why: "the user unpaused the worker" });
}

/**
 * Plans the next attempt of a failed worker, or the continuation of a stopped worker. Also sets all workers
 * that were skipped because of a failed dependency back to `pending`.
 */
async function retry(
  deps: SwarmOwnerDeps,
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
