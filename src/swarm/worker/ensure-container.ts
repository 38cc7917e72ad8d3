import { labels } from "../../engine/engine.ts";
import { removeWithoutTimeout } from "../../engine/remove-without-timeout.ts";
import { requireExpected } from "../../errors/errors.ts";
import { whyContainerLost } from "../../state/rules/reconcile-records.ts";
import { recordWithStatus } from "../../state/rules/swarm-state.ts";
import { earlierContainerNames, homeVolumeName } from "../../state/rules/worker-container-name.ts";
import type { NetworkConnection } from "./network-access.ts";
import type { OwnerServices } from "./owner-services.ts";
import { recordWorkerEnd } from "./record-worker-end.ts";
import type { Worker } from "./worker.ts";
import { workerContainerSpec } from "./worker-container.ts";

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
  deps: OwnerServices,
  worker: Worker,
  halt: AbortSignal,
): Promise<RunningContainer | null> {
  const { store, networkAccess } = deps;
  const { containers } = deps.sandboxes;
  const { clock, crashPoint, signal } = deps.time;
  const facts = await containers.inspect(worker.name, undefined, signal);
  const isAlive = facts?.state === "running" || facts?.state === "paused";
  const isRecorded = (await store.record(worker.name)).containerId !== null;
  const wasMade = facts !== null || isRecorded;
  // After a halt, no container starts. The exception is a worker whose budget is used up, because its journal
  // may have unread messages.
  const mayGoOn = (): boolean =>
    !halt.aborted || isAlive || (wasMade && networkAccess.accessEnded(worker.slug).aborted);
  if (!mayGoOn()) return null;
  if (facts === null && (await isLost(deps, worker))) return null;
  // An existing container that is going to end needs no network access.
  const network = halt.aborted && facts !== null ? null : await networkAccess.open(worker);
  if (!mayGoOn()) {
    await networkAccess.close(worker, { isGone: facts === null });
    return null;
  }
  const id = facts?.id ?? (network && (await makeContainer(deps, worker, network)));
  if (id === null || !mayGoOn()) return null;
  const { paused } = await store.record(worker.name);
  const now = clock().getTime();
  const pauseEnd = Math.min(now, paused?.until ? Date.parse(paused.until) : now);
  // A container that this call created was never paused.
  const pausedMs = paused && wasMade ? Math.max(0, pauseEnd - Date.parse(paused.since)) : 0;
  // The owner that created the container was killed before it recorded the container. The repository's bundle
  // may be missing, so it is copied again.
  if (facts !== null && !isAlive && !isRecorded) await giveRepository(deps, worker, id);
  crashPoint("after-record-before-start");
  if (facts?.state === "paused") await containers.unpause(id, signal);
  else if (facts?.state !== "running") await containers.start(id, signal);
  await store.change(worker.name, (record) => ({
    ...recordWithStatus(record, "running", null, clock()),
    containerId: id,
    creating: null,
    reason: null,
    paused: null,
    acpPid: process.pid,
  }));
  crashPoint("after-start-before-request");
  return { containerId: id, pausedMs };
}

async function makeContainer(
  deps: OwnerServices,
  worker: Worker,
  network: NetworkConnection,
): Promise<string> {
  const { swarm, store, sandboxes } = deps;
  const { clock, signal, crashPoint } = deps.time;
  const record = await store.record(worker.name);
  await store.change(worker.name, (now) => ({ ...now, creating: { since: clock().toISOString() } }));
  crashPoint("after-creating-before-create");
  const marks = labelsOf(swarm, worker, record.attempt);
  for (const volume of [worker.name, homeVolumeName(worker.name)])
    await sandboxes.volumes.create(volume, marks, signal);
  const spec = workerContainerSpec(sandboxes, network, {
    name: worker.name,
    slug: worker.slug,
    labels: marks,
    swarmId: swarm.swarmId,
    attempt: record.attempt,
    branch: record.branchName,
  });
  const { id } = await sandboxes.containers.create(spec, signal);
  await giveRepository(deps, worker, id);
  crashPoint("after-create-before-record");
  await store.change(worker.name, (now) => ({ ...now, containerId: id, creating: null }));
  deps.events.emit({ event: "created", worker: worker.slug, containerId: id });
  return id;
}

/**
 * Copies a git bundle of the repository into the worker's container, unless the image already contains the
 * base commit. It can be repeated after a crash.
 */
async function giveRepository(
  { repository, channel, time: { crashPoint, signal } }: OwnerServices,
  { request, base }: Worker,
  id: string,
): Promise<void> {
  if (request.repoUrl === "image:") return;
  crashPoint("after-create-before-bundle");
  await using bundle = await repository.commits.bundle(request.baseCommit ?? base, "workspace", signal);
  await channel.copyBundle(id, bundle.file, signal);
}

/**
 * Returns whether the recorded container no longer exists and the volume with its journal does not either. If
 * so, records the worker as failed.
 */
async function isLost(deps: OwnerServices, worker: Worker): Promise<boolean> {
  const { containerId, attempt } = await deps.store.record(worker.name);
  if (containerId === null) return false;
  const { volumes } = deps.sandboxes;
  const present = await volumes.list(labelsOf(deps.swarm, worker, attempt), deps.time.signal);
  const reason = whyContainerLost({ hasVolume: present.includes(worker.name) });
  if (reason === null) return false;
  await recordWorkerEnd(deps, worker, { status: "failed", reason }, { creating: null, acpPid: null });
  await deps.networkAccess.close(worker, { isGone: true });
  return true;
}

/** Stops a worker's container, but keeps the container and its volumes, so that the user can inspect them. */
export async function stopWorker(deps: OwnerServices, worker: Pick<Worker, "name" | "slug">): Promise<void> {
  deps.events.emit({ event: "kept", worker: worker.slug });
  await stopContainer(deps, worker);
  await deps.networkAccess.close(worker, { isGone: false });
}

/** Stops a worker's container. Ignores every `SwarmError`, for example if the engine does not answer. */
export async function stopContainer(
  { sandboxes, time }: Pick<OwnerServices, "sandboxes" | "time">,
  { name }: Pick<Worker, "name">,
): Promise<void> {
  await sandboxes.containers.stop(name, { graceMs: stopMs }, time.signal).catch(requireExpected);
}

/**
 * Removes the container and the volumes of a worker whose commits have been imported. Removes the volume with
 * the agent's home folder only if `withHome` is set.
 */
export async function removeWorkerContainerAndVolumes(
  { sandboxes, networkAccess, events, time: { crashPoint, signal } }: OwnerServices,
  worker: Pick<Worker, "name" | "slug">,
  { withHome, halt }: { readonly withHome: boolean; readonly halt?: AbortSignal },
): Promise<void> {
  const { containers, volumes } = sandboxes;
  const { name, slug } = worker;
  crashPoint("after-record-before-remove");
  const remove = async (until: AbortSignal): Promise<void> => {
    await containers.remove(name, until);
    await networkAccess.close(worker, { isGone: true });
    crashPoint("mid-remove");
    await volumes.remove(name, until);
    // Keeps the home volume if containers of earlier attempts were kept, because they share it.
    let isShared = false;
    for (const earlier of earlierContainerNames(name))
      isShared ||= (await containers.inspect(earlier, undefined, until)) !== null;
    if (withHome && !isShared) await volumes.remove(homeVolumeName(name), until);
    events.emit({ event: "removed", worker: slug });
  };
  const onSlow = (why: string): void => events.emit({ event: "removing", worker: slug, why });
  await removeWithoutTimeout(remove, { halt, onSlow }, signal);
}

function labelsOf(
  { projectId, worktree, swarmId }: OwnerServices["swarm"],
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
