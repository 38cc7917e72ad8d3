import type { StoredBundle } from "../../contract/acp.ts";
import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import type { StoryStartCommit } from "../../git/work-repository-port.ts";
import { failedStoryRefName, workerCommitsRefName } from "../../state/rules/worker-container-name.ts";
import type { OwnerServices } from "./owner-services.ts";
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
  deps: OwnerServices,
  worker: Worker,
  stored: BundleStoredByAdapter,
): Promise<Reason | null> {
  const { store, channel, events } = deps;
  const { clock, signal, crashPoint } = deps.time;
  const { work } = deps.repository;
  const record = await store.record(worker.name);
  const { failedStory } = stored;
  const isFailed = failedStory !== null;
  const names = { swarmId: deps.swarm.swarmId, slug: worker.slug, attempt: record.attempt };
  const ref = isFailed ? failedStoryRefName({ ...names, storyId: failedStory }) : workerCommitsRefName(names);
  const old = isFailed ? null : await lastImported(work, record, ref);
  if (!isFailed)
    await store.change(worker.name, (now) => ({ ...now, collecting: { ref, old, new: stored.commit } }));
  const outcome = await work.importBundle(
    {
      maxBytes,
      old,
      keepRef: ref,
      base: worker.request.baseCommit ?? worker.base,
      tip: stored.commit,
      sha256: stored.sha256,
      ...(stored.start && { start: stored.start }),
      bundle: withFirstChunkHook(
        channel.readFile({ containerId: stored.containerId, path: stored.bundle, maxBytes }, signal),
        () => crashPoint("mid-collect"),
      ),
      expectedRef: isFailed ? `refs/aimi/failed/${failedStory}` : `refs/heads/${record.branchName}`,
    },
    signal,
  );
  const at = clock().toISOString();
  switch (outcome.kind) {
    case "taken":
    case "already":
      crashPoint("after-update-ref-before-record");
      if (!isFailed)
        await store.change(worker.name, (now) => ({
          ...now,
          collecting: null,
          collected: { commit: stored.commit, ref, at },
        }));
      events.emit({ event: "collected", worker: worker.slug, commit: stored.commit, ref });
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
    events.emit({ event: "refused", worker: worker.slug, ref, reason });
    if (!isFailed) await store.change(worker.name, (now) => ({ ...now, collecting: null }));
    return reason;
  }
}

/**
 * Returns the last commit that was imported for a worker. That is the commit in `collected`, or the commit in
 * `collecting` if a killed owner moved the ref but did not record this in `collected`.
 */
async function lastImported(
  work: OwnerServices["repository"]["work"],
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
export async function publishWorkAsBranch(deps: OwnerServices, worker: Worker): Promise<void> {
  const { store, events } = deps;
  const { work } = deps.repository;
  const { collected, branchName } = await store.record(worker.name);
  if (!collected) return;
  const { paths } = await work.sensitivePaths(worker.base, collected.commit, deps.time.signal);
  if (paths.length > 0) events.emit({ event: "sensitive", worker: worker.slug, paths: paths.slice(0, 50) });
  const published = await work.publish({
    commit: collected.commit,
    base: worker.base,
    branch: branchName,
    fallbackBranch: `${branchName}-swarm-${deps.swarm.swarmId.slice(0, 6)}`,
    beforeMove: (move) => store.change(worker.name, (now) => ({ ...now, branch: { ...move, done: false } })),
  });
  events.emit({ event: "published", worker: worker.slug, ...published });
  // If no branch could be written, the work stays at its own ref. The `published` event contains the reason.
  if (published.kind === "refused") return;
  const { ref } = published;
  await store.change(worker.name, (now) => ({
    ...now,
    branch: { ref, old: now.branch?.old ?? null, new: collected.commit, done: true },
  }));
}
