import type { StoredBundle } from "../../contract/acp.ts";
import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import type { StoryStartCommit } from "../../git/work-repository-port.ts";
import { requireRecord } from "../../state/rules/swarm-state.ts";
import { failedStoryRefName, workerCommitsRefName } from "../../state/rules/worker-names.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";
import type { Worker } from "./worker.ts";

export interface BundleStoredByAdapter extends StoredBundle {
  readonly containerId: string;
  /**
   * The id of the failed story whose unfinished work is in the bundle. Null if the bundle contains the
   * worker's result so far.
   */
  readonly failedStory: string | null;
  /**
   * The commit and the git tree from which the agent began the story; undefined if the adapter did not report
   * them.
   */
  readonly start?: StoryStartCommit | undefined;
}

/**
 * The maximum size in bytes of a git bundle from a worker. The bundle contains only commits that are newer
 * than a commit in the repository.
 */
const maxBytes = 4 * 1024 ** 3;

/**
 * Imports a git bundle that the adapter stored in the worker's container. Returns why the import was refused,
 * or null if it succeeded. Before it moves the worker's ref, records the move, so that the next owner can
 * detect the move after a crash.
 */
export async function importCommitsFromAdapter(
  deps: SwarmOwnerDeps,
  worker: Worker,
  stored: BundleStoredByAdapter,
): Promise<Reason | null> {
  const { work, channel, change, clock, swarmId, emit, signal, crashPoint } = deps;
  const record = requireRecord(await deps.read(), worker.name);
  const { branchName } = record;
  const { failedStory } = stored;
  const isFailed = failedStory !== null;
  const names = { swarmId, slug: worker.slug, attempt: record.attempt };
  const ref = isFailed ? failedStoryRefName({ ...names, storyId: failedStory }) : workerCommitsRefName(names);
  const old = isFailed ? null : await lastImported(deps, record, ref);
  if (!isFailed)
    await change(worker.name, (now) => ({ ...now, collecting: { ref, old, new: stored.commit } }));
  const outcome = await work.importBundle(
    {
      ...{
        maxBytes,
        old,
        keepRef: ref,
        base: worker.request.baseCommit ?? worker.base,
        tip: stored.commit,
        sha256: stored.sha256,
      },
      ...(stored.start && { start: stored.start }),
      bundle: withFirstChunkHook(
        channel.readFile({ containerId: stored.containerId, path: stored.bundle, maxBytes }, signal),
        () => crashPoint("mid-collect"),
      ),
      expectedRef: isFailed ? `refs/aimi/failed/${failedStory}` : `refs/heads/${branchName}`,
    },
    signal,
  );
  const at = clock().toISOString();
  switch (outcome.kind) {
    case "taken":
    case "already":
      crashPoint("after-update-ref-before-record");
      if (!isFailed)
        await change(worker.name, (now) => ({
          ...now,
          ...{ collecting: null, collected: { commit: stored.commit, ref, at } },
        }));
      emit({ event: "collected", worker: worker.slug, commit: stored.commit, ref });
      return null;
    case "rewritten":
      return refused({
        code: "HISTORY_REWRITTEN",
        message: "the worker's branch no longer contains a commit that swarm collected earlier",
      });
    case "refused":
      return refused({ code: "COLLECT_FAILED", message: outcome.reason });
  }

  async function refused(reason: Reason): Promise<Reason | null> {
    emit({ event: "refused", worker: worker.slug, ref, reason });
    if (!isFailed) await change(worker.name, (now) => ({ ...now, collecting: null }));
    return reason;
  }
}

/**
 * Returns the last commit that was imported for a worker. That is the commit in `collected`, or the commit in
 * `collecting` if a killed owner moved the ref but did not record this in `collected`.
 */
async function lastImported(
  { work }: Pick<SwarmOwnerDeps, "work">,
  { collected, collecting }: ContainerRecord,
  ref: string,
): Promise<string | null> {
  const known = collected?.commit ?? null;
  if (collecting === null || collecting.ref !== ref || collecting.new === known) return known;
  return (await work.commitAt(ref)) === collecting.new ? collecting.new : known;
}

/** Yields the given chunks unchanged, and calls `onFirst` before the first one. */
async function* withFirstChunkHook(
  bytes: AsyncIterable<Uint8Array>,
  onFirst: () => void,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of bytes) {
    if (isFirst) onFirst();
    isFirst = false;
    yield piece;
  }
}

/**
 * Publishes the commits of a completed worker as a branch. Never moves an existing branch if it would lose
 * commits that the worker's commits do not include.
 */
export async function publishWorkAsBranch(deps: SwarmOwnerDeps, worker: Worker): Promise<void> {
  const { work, change, swarmId, emit, signal } = deps;
  const { collected, branchName } = requireRecord(await deps.read(), worker.name);
  if (!collected) return;
  const { paths } = await work.sensitivePaths(worker.base, collected.commit, signal);
  if (paths.length > 0) emit({ event: "sensitive", worker: worker.slug, paths: paths.slice(0, 50) });
  const published = await work.publish({
    ...{ commit: collected.commit, base: worker.base, branch: branchName },
    fallbackBranch: `${branchName}-swarm-${swarmId.slice(0, 6)}`,
    beforeMove: (move) => change(worker.name, (now) => ({ ...now, branch: { ...move, done: false } })),
  });
  emit({ event: "published", worker: worker.slug, ...published });
  // If no branch could be written, the work stays at its own ref. The `published` event contains the reason.
  if (published.kind === "refused") return;
  const { ref } = published;
  await change(worker.name, (now) => ({
    ...now,
    branch: { ref, old: now.branch?.old ?? null, new: collected.commit, done: true },
  }));
}
