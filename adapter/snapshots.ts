import { stat } from "node:fs/promises";
import type { CommitAuthor } from "../src/domain/generated/acp.ts";
import { storeBundle } from "./exports.ts";
import type { CommandLimit } from "./git.ts";
import type { History } from "./history.ts";
import { outOf, type SandboxPaths } from "./places.ts";
import { CutOff } from "./program-end.ts";
import { fetchBundle, type Workspace } from "./workspace.ts";

const bundleName = "wip.bundle";
/** The adapter's own index for snapshots: the agent may have locked the repository's. */
const ownIndex = "aimi-wip-index";

export interface SnapshotDeps {
  readonly paths: SandboxPaths;
  readonly workspace: Workspace;
  readonly env: Readonly<Record<string, string>>;
  readonly author: CommitAuthor;
}

/** Stores uncommitted work outside the branch, so that the loss of a container costs at most the work since the last snapshot. */
export class Snapshots {
  readonly #deps: SnapshotDeps;
  #last = "";
  #isStored = false;
  #taking: Promise<void> | null = null;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  /** Stores the current files, if they changed. A snapshot may fail while the agent writes; the next one makes up for it. */
  async take(storyId: string): Promise<void> {
    // A snapshot that is under way may have missed the latest change.
    await this.#taking;
    await this.takeSoon(storyId);
  }

  /** The same, but if a snapshot is under way, waits for that one instead. */
  takeSoon(storyId: string): Promise<void> {
    this.#taking ??= this.#take(storyId)
      .catch(() => {})
      .finally(() => {
        this.#taking = null;
      });
    return this.#taking;
  }

  async #take(storyId: string): Promise<void> {
    const { paths, workspace, env, author } = this.#deps;
    // A stop may cut off a checkout. Its half-changed files must not replace the snapshot that restores them.
    if (!(await workspace.mark.isSet())) return;
    const tree = await workspace.writeTree({ index: ownIndex });
    const parent = await workspace.git.run(["rev-parse", "--verify", "HEAD^{commit}"]);
    if (`${tree} ${parent}` === this.#last) return;
    // When a stored change was reverted, the snapshot must follow.
    const isNew = this.#isStored || parent !== workspace.base || tree !== (await workspace.treeOf(parent));
    if (isNew) {
      const message = `Snapshot of ${storyId}\n`;
      const commit = await workspace.makeCommit({ tree, parent, message, author });
      const ref = refOf(storyId);
      await workspace.setRef(ref, commit);
      await storeBundle(paths, workspace, { name: bundleName, ref, env });
      this.#isStored = true;
    }
    this.#last = `${tree} ${parent}`;
  }
}

const refOf = (storyId: string): string => `refs/aimi/wip/${storyId}`;

/** Restores the files, uncommitted, from the last snapshot of the story in progress. */
export async function restoreSnapshot(
  {
    paths,
    env,
    history,
    limit,
  }: {
    readonly paths: SandboxPaths;
    readonly env: SnapshotDeps["env"];
    readonly limit: CommandLimit;
    readonly history: Pick<History, "statusById">;
  },
  workspace: Workspace,
  good: string,
): Promise<void> {
  const [storyId] = [...history.statusById].find(([, status]) => status === "in_progress") ?? [];
  const bundle = `${outOf(paths)}/${bundleName}`;
  if (storyId === undefined || !(await stat(bundle).catch(() => null))) return;
  const ref = refOf(storyId);
  const folder = paths.workspace;
  const isFetched = await fetchBundle({ folder, env, limit }, { bundle, refspec: `+${ref}:${ref}` }).then(
    () => true,
    (error: unknown) => {
      // A fetch that was cut off does not prove the bundle unreadable, and the bundle may be the only copy.
      if (error instanceof CutOff) throw error;
      return false;
    },
  );
  // A snapshot of an earlier story, or one that is not based on the good commit, does not apply.
  if (!isFetched || !(await workspace.isAncestor(good, `${ref}^`))) return;
  await workspace.moveTo(`${ref}^`);
  await workspace.git.run(["read-tree", "-u", "--reset", ref]);
  await workspace.git.run(["reset", "--quiet"]);
}
