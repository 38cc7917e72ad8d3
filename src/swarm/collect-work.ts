import type { StoredBundle } from "../domain/generated/acp.ts";
import type { Reason } from "../domain/generated/swarm-state.ts";
import { findContainer } from "../domain/swarm-state.ts";
import { workRefOf } from "../domain/worker-names.ts";
import type { SwarmDeps, Worker } from "./swarm-deps.ts";

export interface StoredWork extends StoredBundle {
  readonly containerId: string;
  /** The story whose unfinished work it is; null for what counts. */
  readonly failedStory: string | null;
}

/** A bundle is the difference to a commit that is here already. */
const mostBytes = 4 * 1024 ** 3;

/**
 * Brings in what an adapter stored, and proves that it is here. What is about to be done is written down before, so that a
 * crash in between leaves no doubt. The reason when it cannot be brought in.
 */
export async function collectWork(
  deps: SwarmDeps,
  worker: Worker,
  stored: StoredWork,
): Promise<Reason | null> {
  const { work, places, change, clock, swarmId, tell, signal } = deps;
  const record = findContainer(await deps.read(), worker.name);
  const { branchName } = worker.task.taskFile.metadata;
  const isFailed = stored.failedStory !== null;
  const ref = isFailed
    ? `refs/aimi/failed/${swarmId}/${worker.slug}/${record.attempt}-${stored.failedStory}`
    : workRefOf({ swarmId, slug: worker.slug });
  const old = isFailed ? null : (record.collected?.commit ?? null);
  if (!isFailed)
    await change(worker.name, (now) => ({ ...now, collecting: { ref, old, new: stored.commit } }));
  const outcome = await work.takeIn(
    {
      ...{ mostBytes, old, keep: ref, base: worker.base, tip: stored.commit, sha256: stored.sha256 },
      bundle: places.stored({ containerId: stored.containerId, path: stored.bundle, mostBytes }, signal),
      expectedRef: isFailed ? `refs/aimi/failed/${stored.failedStory}` : `refs/heads/${branchName}`,
    },
    signal,
  );
  const at = clock().toISOString();
  switch (outcome.kind) {
    case "taken":
    case "already":
      if (!isFailed)
        await change(worker.name, (now) => ({
          ...now,
          ...{ collecting: null, collected: { commit: stored.commit, ref, at } },
        }));
      tell({ event: "collected", worker: worker.slug, commit: stored.commit, ref });
      return null;
    case "rewritten":
      return refused({
        code: "HISTORY_REWRITTEN",
        message: "what it brought before is no longer part of its branch",
      });
    case "refused":
      return refused({ code: "COLLECT_FAILED", message: outcome.reason });
  }

  async function refused(reason: Reason): Promise<Reason | null> {
    tell({ event: "refused", worker: worker.slug, ref, reason });
    if (!isFailed) await change(worker.name, (now) => ({ ...now, collecting: null }));
    return reason;
  }
}

/** Gives the finished work its branch, and never takes one from somebody else. */
export async function publishWork(deps: SwarmDeps, worker: Worker): Promise<void> {
  const { work, change, swarmId, tell } = deps;
  const { collected } = findContainer(await deps.read(), worker.name);
  if (!collected) return;
  const { branchName } = worker.task.taskFile.metadata;
  const published = await work.publish({
    ...{ commit: collected.commit, base: worker.base, branch: branchName },
    fallback: `${branchName}-swarm-${swarmId.slice(0, 6)}`,
    beforeMove: (move) => change(worker.name, (now) => ({ ...now, branch: { ...move, done: false } })),
  });
  tell({ event: "published", worker: worker.slug, ...published });
  // Without a branch the work stays where it was collected, and the events say why.
  if (published.kind === "refused") return;
  const { ref } = published;
  await change(worker.name, (now) => ({
    ...now,
    branch: { ref, old: now.branch?.old ?? null, new: collected.commit, done: true },
  }));
}
