import { SwarmError } from "../domain/errors.ts";
import { findContainer, movedTo } from "../domain/swarm-state.ts";
import { homeVolumeName } from "../domain/worker-names.ts";
import { labels } from "../ports/engine.ts";
import type { SwarmDeps, Worker } from "./swarm-deps.ts";
import { workerContainer } from "./worker-container.ts";

const tmpBytes = 1024 ** 3;
const stopMs = 5_000;

/**
 * A running container for the worker: the one that is there, started again if it has ended, or a new one on what volumes there are.
 * Null, with the record's end written down, when the one that was there is gone for good.
 */
export async function standUpWorker(
  deps: SwarmDeps,
  worker: Worker,
  halt: AbortSignal,
): Promise<string | null> {
  const { containers, change, clock } = deps;
  const facts = await containers.look(worker.name, undefined, deps.signal);
  let id = facts?.id ?? null;
  if (id === null) {
    if (halt.aborted) return null;
    if (await isLost(deps, worker)) return null;
    id = await makeContainer(deps, worker);
  }
  if (facts?.state === "paused") await containers.unpause(id, deps.signal);
  else if (facts?.state !== "running") await containers.start(id, deps.signal);
  const containerId = id;
  await change(worker.name, (record) => ({
    ...movedTo(record, "running", null, clock()),
    ...{ containerId, creating: null, reason: null, paused: null, acpPid: process.pid },
  }));
  return id;
}

async function makeContainer(deps: SwarmDeps, worker: Worker): Promise<string> {
  const { containers, volumes, change, clock, signal } = deps;
  const record = findContainer(await deps.read(), worker.name);
  await change(worker.name, (now) => ({ ...now, creating: { since: clock().toISOString() } }));
  const marks = labelsOf(deps, worker, record.attempt);
  const homeVolume = homeVolumeName(worker.name);
  for (const volume of [worker.name, homeVolume]) await volumes.create(volume, marks, signal);
  const { id } = await containers.create(
    workerContainer({
      ...{
        name: worker.name,
        homeVolume,
        labels: marks,
        image: deps.image,
        runtime: deps.runtime,
        limits: deps.limits,
      },
      ...{ network: { kind: "none" }, tmpBytes, swarmId: deps.swarmId, worker: worker.slug },
      ...{ attempt: record.attempt, branch: record.branchName },
    }),
    signal,
  );
  if (worker.request.repoUrl !== "image:") {
    await using bundle = await deps.commits.bundle(worker.base, "workspace", signal);
    await deps.places.giveBundle(id, bundle.file, signal);
  }
  await change(worker.name, (now) => ({ ...now, containerId: id, creating: null }));
  deps.tell({ event: "created", worker: worker.slug, containerId: id });
  return id;
}

/** A container that was there and is gone, with the volume that had its journal. */
async function isLost(deps: SwarmDeps, worker: Worker): Promise<boolean> {
  const { volumes, read, change, clock, tell } = deps;
  const record = findContainer(await read(), worker.name);
  if (record.containerId === null) return false;
  const present = await volumes.list(labelsOf(deps, worker, record.attempt), deps.signal);
  if (present.includes(worker.name)) return false;
  const reason = { code: "CONTAINER_LOST", message: "its container and its volume are gone" };
  tell({ event: "ended", worker: worker.slug, status: "failed", reason });
  await change(worker.name, (now) => ({
    ...movedTo(now, "failed", reason, clock()),
    creating: null,
    acpPid: null,
  }));
  return true;
}

/** Ends a worker that is given up, and keeps all that it has: somebody may want to look. An engine that is gone is left alone. */
export async function stopWorker(
  { containers, signal, tell }: SwarmDeps,
  { name, slug }: Worker,
): Promise<void> {
  tell({ event: "kept", worker: slug });
  await containers.stop(name, { graceMs: stopMs }, signal).catch((error: unknown) => {
    if (!(error instanceof SwarmError)) throw error;
  });
}

/** Takes away what is left of a worker whose work is here. */
export async function removeWorker(
  { containers, volumes, signal, tell }: SwarmDeps,
  { name, slug }: Worker,
  { withHome }: { readonly withHome: boolean },
): Promise<void> {
  await containers.remove(name, signal);
  await volumes.remove(name, signal);
  if (withHome) await volumes.remove(homeVolumeName(name), signal);
  tell({ event: "removed", worker: slug });
}

function labelsOf(
  { projectId, worktree, swarmId }: Pick<SwarmDeps, "projectId" | "worktree" | "swarmId">,
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
