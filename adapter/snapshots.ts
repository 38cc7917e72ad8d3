import { stat } from "node:fs/promises";
import type { CommitAuthor } from "../src/domain/generated/acp.ts";
import { storeBundle } from "./exports.ts";
import type { CommandLimit } from "./git.ts";
import type { History } from "./history.ts";
import { outOf, type Places } from "./places.ts";
import { CutOff } from "./program-end.ts";
import { fetchBundle, type Workspace } from "./workspace.ts";

const bundleName = "wip.bundle";
/** Never the agent's own index: it may be locked by what the agent does right now. */
const ownIndex = "aimi-wip-index";

export interface SnapshotDeps {
  readonly places: Places;
  readonly workspace: Workspace;
  readonly env: Readonly<Record<string, string>>;
  readonly author: CommitAuthor;
}

/** Keeps what is not committed yet, outside the branch, so that the loss of a container costs at most the time between two. */
export class Snapshots {
  readonly #deps: SnapshotDeps;
  #last = "";
  #isStored = false;
  #taking: Promise<void> | null = null;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  /** Stores the state of the files as it is now, if it changed. An agent in the middle of something may spoil one; the next one will do. */
  async take(storyId: string): Promise<void> {
    // One that is under way may have passed by what changed last.
    await this.#taking;
    await this.takeSoon(storyId);
  }

  /** The same, unless one is under way. */
  takeSoon(storyId: string): Promise<void> {
    this.#taking ??= this.#take(storyId)
      .catch(() => {})
      .finally(() => {
        this.#taking = null;
      });
    return this.#taking;
  }

  async #take(storyId: string): Promise<void> {
    const { places, workspace, env, author } = this.#deps;
    // A stop may cut off a move of the files. What is there then must not replace the snapshot that they are made again from.
    if (!(await workspace.mark.isSet())) return;
    const tree = await workspace.writeTree({ index: ownIndex });
    const parent = await workspace.git.run(["rev-parse", "--verify", "HEAD^{commit}"]);
    if (`${tree} ${parent}` === this.#last) return;
    // A change that was taken back must be taken back there, too.
    const isNew = this.#isStored || parent !== workspace.base || tree !== (await workspace.treeOf(parent));
    if (isNew) {
      const message = `Snapshot of ${storyId}\n`;
      const commit = await workspace.makeCommit({ tree, parent, message, author });
      const ref = refOf(storyId);
      await workspace.point(ref, commit);
      await storeBundle(places, workspace, { name: bundleName, ref, env });
      this.#isStored = true;
    }
    this.#last = `${tree} ${parent}`;
  }
}

const refOf = (storyId: string): string => `refs/aimi/wip/${storyId}`;

/** Puts the last snapshot of a story that was being carried out back into the files, uncommitted as it was. */
export async function restoreSnapshot(
  {
    places,
    env,
    history,
    limit,
  }: {
    readonly places: Places;
    readonly env: SnapshotDeps["env"];
    readonly limit: CommandLimit;
    readonly history: Pick<History, "statusById">;
  },
  workspace: Workspace,
  good: string,
): Promise<void> {
  const [storyId] = [...history.statusById].find(([, status]) => status === "in_progress") ?? [];
  const bundle = `${outOf(places)}/${bundleName}`;
  if (storyId === undefined || !(await stat(bundle).catch(() => null))) return;
  const ref = refOf(storyId);
  const folder = places.workspace;
  const isFetched = await fetchBundle({ folder, env, limit }, { bundle, refspec: `+${ref}:${ref}` }).then(
    () => true,
    (error: unknown) => {
      // Not read is not unreadable: it may hold what is nowhere else.
      if (error instanceof CutOff) throw error;
      return false;
    },
  );
  // A snapshot of an earlier story, or one that stands on something else, is no help.
  if (!isFetched || !(await workspace.isAncestor(good, `${ref}^`))) return;
  await workspace.moveTo(`${ref}^`);
  await workspace.git.run(["read-tree", "-u", "--reset", ref]);
  await workspace.git.run(["reset", "--quiet"]);
}
