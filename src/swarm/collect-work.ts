import type { StoredBundle } from "../domain/generated/acp.ts";
import type { ContainerRecord, Reason } from "../domain/generated/swarm-state.ts";
import { findContainer } from "../domain/swarm-state.ts";
import { failedRefOf, workRefOf } from "../domain/worker-names.ts";
import type { StoryStart } from "../ports/work-repository.ts";
import type { SwarmDeps, Worker } from "./swarm-deps.ts";

export interface StoredWork extends StoredBundle {
  readonly containerId: string;
  /** The story whose unfinished work it is; null for what counts. */
  readonly failedStory: string | null;
  /** What its story began with, where the adapter told it. */
  readonly start?: StoryStart | undefined;
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
  const { work, places, change, clock, swarmId, tell, signal, passes } = deps;
  const record = findContainer(await deps.read(), worker.name);
  const { branchName } = record;
  const { failedStory } = stored;
  const isFailed = failedStory !== null;
  const names = { swarmId, slug: worker.slug, attempt: record.attempt };
  const ref = isFailed ? failedRefOf({ ...names, storyId: failedStory }) : workRefOf(names);
  const old = isFailed ? null : await lastTakenIn(deps, record, ref);
  if (!isFailed)
    await change(worker.name, (now) => ({ ...now, collecting: { ref, old, new: stored.commit } }));
  const outcome = await work.takeIn(
    {
      ...{
        mostBytes,
        old,
        keep: ref,
        base: worker.request.baseCommit ?? worker.base,
        tip: stored.commit,
        sha256: stored.sha256,
      },
      ...(stored.start && { start: stored.start }),
      bundle: passing(
        places.stored({ containerId: stored.containerId, path: stored.bundle, mostBytes }, signal),
        () => passes("mid-collect"),
      ),
      expectedRef: isFailed ? `refs/aimi/failed/${failedStory}` : `refs/heads/${branchName}`,
    },
    signal,
  );
  const at = clock().toISOString();
  switch (outcome.kind) {
    case "taken":
    case "already":
      passes("after-update-ref-before-record");
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

/**
 * What the ref is known to be at. An owner that was killed may have moved it and not written that down; what it was about to do
 * says which commit that was, and that one was checked.
 */
async function lastTakenIn(
  { work }: Pick<SwarmDeps, "work">,
  { collected, collecting }: ContainerRecord,
  ref: string,
): Promise<string | null> {
  const known = collected?.commit ?? null;
  if (collecting === null || collecting.ref !== ref || collecting.new === known) return known;
  return (await work.keptAt(ref)) === collecting.new ? collecting.new : known;
}

/** The same bytes; `onFirst` is called when the first ones are there. */
async function* passing(bytes: AsyncIterable<Uint8Array>, onFirst: () => void): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of bytes) {
    if (isFirst) onFirst();
    isFirst = false;
    yield piece;
  }
}

/** Gives the finished work its branch, and never takes one from somebody else. */
export async function publishWork(deps: SwarmDeps, worker: Worker): Promise<void> {
  const { work, change, swarmId, tell, signal } = deps;
  const { collected, branchName } = findContainer(await deps.read(), worker.name);
  if (!collected) return;
  const { paths } = await work.sensitivePaths(worker.base, collected.commit, signal);
  if (paths.length > 0) tell({ event: "sensitive", worker: worker.slug, paths: paths.slice(0, 50) });
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
