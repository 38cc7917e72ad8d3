import { isTerminal } from "../domain/container-status.ts";
import { isError, SwarmError } from "../domain/errors.ts";
import type { ContainerRecord } from "../domain/generated/swarm-state.ts";
import { workerSlug } from "../domain/slug.ts";
import { findContainer, movedTo, type SwarmState } from "../domain/swarm-state.ts";
import { type OwnerCommand, openCommands, withoutCommand } from "../domain/wishes.ts";
import type { OwnerState } from "./own-swarm.ts";
import { retryWorkers } from "./retry-workers.ts";
import type { SwarmDeps } from "./swarm-deps.ts";
import { unpauseWorker } from "./unpause-worker.ts";

/** The time that agents have to end by themselves after a stop command. */
const stopGraceMs = 10_000;

/** Applies the commands of other processes, and clears each when it is done; returns the state after that. */
export async function applyCommands(
  deps: SwarmDeps,
  owner: OwnerState,
  state: SwarmState,
): Promise<SwarmState> {
  const commands = openCommands(state);
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
      // A command that fails is reported and cleared; the others are still applied.
      const reason = { code: error.code, message: withHint(error) };
      deps.emit({ event: "wish", wish: command.wish, ...worker, reason });
    }
    await deps.update((now) => withoutCommand(now, command));
  }
  return commands.length === 0 ? state : deps.read();
}

async function slugOf(deps: SwarmDeps, { name }: { readonly name: string }): Promise<string> {
  const record = (await deps.read()).containers.find(({ containerName }) => containerName === name);
  return record ? workerSlug(record) : name;
}

async function applyToAll(
  deps: SwarmDeps,
  owner: OwnerState,
  { wish }: Extract<OwnerCommand, { of: "swarm" }>,
): Promise<boolean> {
  if (wish === "stop") {
    owner.halt({ reason: "asked to stop", graceMs: stopGraceMs });
    return owner.running.size === 0;
  }
  let isDone = true;
  const failures: SwarmError[] = [];
  for (const { containerName: name, status } of (await deps.read()).containers) {
    if (isTerminal(status)) continue;
    try {
      isDone = (await applyToWorker(deps, owner, { of: "container", name, wish })) && isDone;
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      // A failure of one worker does not block the others.
      failures.push(error);
    }
  }
  const [failure] = failures;
  if (failure) throw failure;
  return isDone;
}

/** The message with its hint: an event has no field for a hint. */
function withHint({ message, hint }: SwarmError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** Applies a command to one worker; returns whether it is done, since a worker takes time to stop. */
async function applyToWorker(
  deps: SwarmDeps,
  owner: OwnerState,
  { name, wish }: Extract<OwnerCommand, { of: "container" }>,
): Promise<boolean> {
  const record = findContainer(await deps.read(), name);
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
  { change, clock, emit }: SwarmDeps,
  { running, begun }: OwnerState,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status } = record;
  const handle = running.get(name);
  if (handle) {
    handle.stop({ reason: "asked to stop", graceMs: stopGraceMs });
    return false;
  }
  begun.add(name);
  if (status !== "pending") return true;
  const reason = { code: "INTERRUPTED", message: "it was asked to stop" };
  emit({ event: "ended", worker: workerSlug(record), status: "stopped", reason });
  await change(name, (now) => movedTo(now, "stopped", reason, clock()));
  return true;
}

/** Pauses a worker; false while its container is being created or started, since that code does not know of the pause. */
async function pause(
  { containers, change, clock, emit, signal }: SwarmDeps,
  { running }: OwnerState,
  record: ContainerRecord,
): Promise<boolean> {
  const { containerName: name, status, paused } = record;
  if (isTerminal(status)) return true;
  if (paused !== null) {
    // A pause for a rate limit loses its end.
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
  await change(name, (now) => ({ ...now, paused: { reason: "asked to pause", since, until: null } }));
  emit({ event: "paused", worker: workerSlug(record), why: "asked to pause" });
  return true;
}

function withPauseByUser(record: ContainerRecord): ContainerRecord {
  return { ...record, paused: record.paused && { ...record.paused, reason: "asked to pause", until: null } };
}

async function unpause(deps: SwarmDeps, { running }: OwnerState, record: ContainerRecord): Promise<void> {
  const { containerName: name, paused } = record;
  if (paused === null) return;
  const handle = running.get(name);
  if (handle) await unpauseWorker(deps, record, handle.resumed);
  else await deps.change(name, (now) => ({ ...now, paused: null }));
  deps.emit({ event: "unpaused", worker: workerSlug(record), why: "asked to go on" });
}

/** Gives a failed worker its next attempt, and requeues workers that were skipped because of a failure. A stopped worker continues. */
async function retry(
  deps: SwarmDeps,
  { running, begun, isEnding }: OwnerState,
  { containerName: name, status }: ContainerRecord,
): Promise<boolean> {
  // The process that sent the command then sees that there is no owner left, and retries the worker itself.
  if (isEnding()) return false;
  // A worker that is just ending must end first.
  if (running.has(name)) return status === "pending" || status === "running";
  begun.delete(name);
  await retryWorkers(deps, [name]);
  return true;
}
