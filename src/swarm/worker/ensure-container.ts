import { labels } from "../../engine/engine.ts";
import { removeWithoutTimeout } from "../../engine/remove-without-timeout.ts";
import { SwarmError } from "../../errors/errors.ts";
import { recordWithStatus, requireRecord } from "../../state/rules/swarm-state.ts";
import { earlierContainerNames, homeVolumeName } from "../../state/rules/worker-names.ts";
import type { NetworkConnection } from "./network-access.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";
import type { Worker } from "./worker.ts";
import { workerContainerSpec } from "./worker-container.ts";

const tmpBytes = 1024 ** 3;
const stopMs = 5_000;

/** The running container of a worker, and for how long it had been paused before, in milliseconds. */
export interface RunningContainer {
  readonly containerId: string;
  readonly pausedMs: number;
}

/**
 * Ensures that a worker's container runs: starts the existing container, or creates a new one, which reuses
 * existing volumes. Returns null if the owner is halting, or if the container is lost together with its
 * journal.
 */
export async function ensureContainerRuns(
  deps: SwarmOwnerDeps,
  worker: Worker,
  halt: AbortSignal,
): Promise<RunningContainer | null> {
  const { containers, change, clock, crashPoint } = deps;
  const facts = await containers.inspect(worker.name, undefined, deps.signal);
  const isAlive = facts?.state === "running" || facts?.state === "paused";
  const isRecorded = requireRecord(await deps.read(), worker.name).containerId !== null;
  const wasMade = facts !== null || isRecorded;
  // After a halt, no container starts. The exception is a worker whose budget is used up, because its journal
  // may have unread messages.
  const mayGoOn = (): boolean =>
    !halt.aborted || isAlive || (wasMade && deps.networkAccess.accessEnded(worker.slug).aborted);
  if (!mayGoOn()) return null;
  if (facts === null && (await isLost(deps, worker))) return null;
  // An existing container that is going to end needs no network access.
  const network = halt.aborted && facts !== null ? null : await deps.networkAccess.open(worker);
  if (!mayGoOn()) {
    await deps.networkAccess.close(worker, { isGone: facts === null });
    return null;
  }
  const id = facts?.id ?? (network && (await makeContainer(deps, worker, network)));
  if (id === null || !mayGoOn()) return null;
  const { paused } = requireRecord(await deps.read(), worker.name);
  const now = clock().getTime();
  const pauseEnd = Math.min(now, paused?.until ? Date.parse(paused.until) : now);
  // A container that this call created was never paused.
  const pausedMs = paused && wasMade ? Math.max(0, pauseEnd - Date.parse(paused.since)) : 0;
  // The owner that created the container was killed before it recorded the container. The repository's bundle
  // may be missing, so it is copied again.
  if (facts !== null && !isAlive && !isRecorded) await giveRepository(deps, worker, id);
  crashPoint("after-record-before-start");
  if (facts?.state === "paused") await containers.unpause(id, deps.signal);
  else if (facts?.state !== "running") await containers.start(id, deps.signal);
  await change(worker.name, (record) => ({
    ...recordWithStatus(record, "running", null, clock()),
    ...{ containerId: id, creating: null, reason: null, paused: null, acpPid: process.pid },
  }));
  crashPoint("after-start-before-request");
  return { containerId: id, pausedMs };
}

async function makeContainer(
  deps: SwarmOwnerDeps,
  worker: Worker,
  network: NetworkConnection,
): Promise<string> {
  const { containers, volumes, change, clock, signal, crashPoint } = deps;
  const record = requireRecord(await deps.read(), worker.name);
  await change(worker.name, (now) => ({ ...now, creating: { since: clock().toISOString() } }));
  crashPoint("after-creating-before-create");
  const marks = labelsOf(deps, worker, record.attempt);
  const homeVolume = homeVolumeName(worker.name);
  for (const volume of [worker.name, homeVolume]) await volumes.create(volume, marks, signal);
  const { id } = await containers.create(
    workerContainerSpec({
      ...{
        name: worker.name,
        homeVolume,
        labels: marks,
        image: deps.image,
        runtime: deps.runtime,
        limits: deps.limits,
      },
      ...{ network, tmpBytes, swarmId: deps.swarmId, worker: worker.slug },
      ...{ attempt: record.attempt, branch: record.branchName },
    }),
    signal,
  );
  await giveRepository(deps, worker, id);
  crashPoint("after-create-before-record");
  await change(worker.name, (now) => ({ ...now, containerId: id, creating: null }));
  deps.emit({ event: "created", worker: worker.slug, containerId: id });
  return id;
}

/**
 * Copies a git bundle of the repository into the worker's container, unless the image already contains the
 * base commit. It can be repeated after a crash.
 */
async function giveRepository(
  { commits, channel, crashPoint, signal }: SwarmOwnerDeps,
  { request, base }: Worker,
  id: string,
): Promise<void> {
  if (request.repoUrl === "image:") return;
  crashPoint("after-create-before-bundle");
  await using bundle = await commits.bundle(request.baseCommit ?? base, "workspace", signal);
  await channel.copyBundle(id, bundle.file, signal);
}

/**
 * Returns whether the recorded container no longer exists and the volume with its journal does not either. If
 * so, records the worker as failed.
 */
async function isLost(deps: SwarmOwnerDeps, worker: Worker): Promise<boolean> {
  const { volumes, read, change, clock, emit } = deps;
  const record = requireRecord(await read(), worker.name);
  if (record.containerId === null) return false;
  const present = await volumes.list(labelsOf(deps, worker, record.attempt), deps.signal);
  if (present.includes(worker.name)) return false;
  const reason = { code: "CONTAINER_LOST", message: "the worker's container and its volume no longer exist" };
  emit({ event: "ended", worker: worker.slug, status: "failed", reason });
  await change(worker.name, (now) => ({
    ...recordWithStatus(now, "failed", reason, clock()),
    creating: null,
    acpPid: null,
  }));
  await deps.networkAccess.close(worker, { isGone: true });
  return true;
}

/** Stops a worker's container, but keeps the container and its volumes, so that the user can inspect them. */
export async function stopWorker(deps: SwarmOwnerDeps, worker: Pick<Worker, "name" | "slug">): Promise<void> {
  deps.emit({ event: "kept", worker: worker.slug });
  await stopContainer(deps, worker);
  await deps.networkAccess.close(worker, { isGone: false });
}

/** Stops a worker's container. Ignores every `SwarmError`, for example if the engine does not answer. */
export async function stopContainer(
  { containers, signal }: Pick<SwarmOwnerDeps, "containers" | "signal">,
  { name }: Pick<Worker, "name">,
): Promise<void> {
  await containers.stop(name, { graceMs: stopMs }, signal).catch((error: unknown) => {
    if (!(error instanceof SwarmError)) throw error;
  });
}

/**
 * Removes the container and the volumes of a worker whose commits have been imported. Removes the volume with
 * the agent's home folder only if `withHome` is set.
 */
export async function removeWorkerContainerAndVolumes(
  { containers, volumes, networkAccess, signal, emit, crashPoint }: SwarmOwnerDeps,
  { name, slug }: Pick<Worker, "name" | "slug">,
  { withHome, halt }: { readonly withHome: boolean; readonly halt?: AbortSignal },
): Promise<void> {
  crashPoint("after-record-before-remove");
  const remove = async (until: AbortSignal): Promise<void> => {
    await containers.remove(name, until);
    await networkAccess.close({ name, slug }, { isGone: true });
    crashPoint("mid-remove");
    await volumes.remove(name, until);
    // Keeps the home volume if containers of earlier attempts were kept, because they share it.
    const isShared = await isAnyThere(containers, earlierContainerNames(name), until);
    if (withHome && !isShared) await volumes.remove(homeVolumeName(name), until);
    emit({ event: "removed", worker: slug });
  };
  await removeWithoutTimeout(
    remove,
    { halt, onSlow: (why) => emit({ event: "removing", worker: slug, why }) },
    signal,
  );
}

async function isAnyThere(
  containers: SwarmOwnerDeps["containers"],
  names: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const name of names) if ((await containers.inspect(name, undefined, signal)) !== null) return true;
  return false;
}

function labelsOf(
  { projectId, worktree, swarmId }: Pick<SwarmOwnerDeps, "projectId" | "worktree" | "swarmId">,
  { task }: Worker,
  attempt: number,
): Record<string, string> {
  return {
    [labels.sandbox]: "true",
    [labels.project]: projectId,
    [labels.worktree]: worktree,
    [labels.swarm]: swarmId,
    [labels.taskFile]: task.path,
    [labels.role]: "worker",
    [labels.attempt]: String(attempt),
  };
}
