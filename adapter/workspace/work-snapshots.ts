import { stat } from "node:fs/promises";
import type { CommitAuthor } from "../../src/contract/acp.ts";
import type { EarlierAdapterRunResults } from "../journal/earlier-runs.ts";
import { ProgramResultUnknownError } from "../machine/program-end.ts";
import { outFolderPath, type SandboxPaths } from "../machine/sandbox-paths.ts";
import { storeBundle } from "./store-bundle.ts";
import { fetchBundle, type Workspace } from "./workspace.ts";

const bundleName = "wip.bundle";
/**
 * The git index file that the adapter uses for snapshots. It is separate because the agent may have locked
 * the repository's index.
 */
const ownIndex = "aimi-wip-index";

export interface SnapshotDeps {
  readonly paths: SandboxPaths;
  readonly workspace: Workspace;
  readonly author: CommitAuthor;
}

/**
 * Stores uncommitted work outside the task's branch. If the container is lost, at most the work since the
 * last snapshot is lost.
 */
export class UncommittedWorkSnapshotWriter {
  readonly #deps: SnapshotDeps;
  #last = "";
  #isStored = false;
  #taking: Promise<void> | null = null;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  /**
   * Takes a snapshot of the work folder if files have changed. Ignores a failure, which the agent can cause
   * by writing at the same time, because the next snapshot includes the same files.
   */
  async take(storyId: string): Promise<void> {
    // Waits for a snapshot that is in progress and takes another, because the first may have missed the latest change.
    await this.#taking;
    await this.takeSoon(storyId);
  }

  /** Takes a snapshot. If a snapshot is already in progress, waits for it instead. */
  takeSoon(storyId: string): Promise<void> {
    this.#taking ??= this.#take(storyId)
      .catch(() => {})
      .finally(() => {
        this.#taking = null;
      });
    return this.#taking;
  }

  async #take(storyId: string): Promise<void> {
    const { paths, workspace, author } = this.#deps;
    // Takes no snapshot during a checkout. If a stop cuts off the checkout, its half-changed files must not replace the
    // snapshot that restores them.
    if (!(await workspace.spec.mark.isSet())) return;
    const tree = await workspace.writeTree({ index: ownIndex });
    const parent = await workspace.git.run(["rev-parse", "--verify", "HEAD^{commit}"]);
    if (`${tree} ${parent}` === this.#last) return;
    // Once a snapshot is stored, stores each change, even one that reverts the files to the base commit.
    const isNew =
      this.#isStored || parent !== workspace.spec.base || tree !== (await workspace.treeOf(parent));
    if (isNew) {
      const message = `Snapshot of ${storyId}\n`;
      const commit = await workspace.makeCommit({ tree, parent, message, author });
      const ref = refOf(storyId);
      await workspace.setRef(ref, commit);
      await storeBundle(paths, workspace, bundleName, ref);
      this.#isStored = true;
    }
    this.#last = `${tree} ${parent}`;
  }
}

const refOf = (storyId: string): string => `refs/aimi/wip/${storyId}`;

/** Restores the uncommitted files of the unfinished story from the story's last snapshot. */
export async function restoreUncommittedWorkSnapshot(
  {
    paths,
    history,
  }: { readonly paths: SandboxPaths; readonly history: Pick<EarlierAdapterRunResults, "statusById"> },
  workspace: Pick<Workspace, "git" | "spec" | "isAncestor" | "moveTo">,
  good: string,
): Promise<void> {
  const [storyId] = [...history.statusById].find(([, status]) => status === "in_progress") ?? [];
  const bundle = `${outFolderPath(paths)}/${bundleName}`;
  if (storyId === undefined || !(await stat(bundle).catch(() => null))) return;
  const ref = refOf(storyId);
  const isFetched = await fetchBundle(workspace.spec, bundle, `+${ref}:${ref}`).then(
    () => true,
    (error: unknown) => {
      // Throws: a fetch that was cut off does not prove that the bundle is unreadable, and the bundle may be the only
      // copy.
      if (error instanceof ProgramResultUnknownError) throw error;
      return false;
    },
  );
  // Ignores a snapshot that is unreadable, of an earlier story, or not based on the last good commit.
  if (!isFetched || !(await workspace.isAncestor(good, `${ref}^`))) return;
  await workspace.moveTo(`${ref}^`);
  await workspace.git.run(["read-tree", "-u", "--reset", ref]);
  await workspace.git.run(["reset", "--quiet"]);
}
