import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RefStore } from "./ref-store.ts";

const heads = "refs/heads/";

/**
 * Finds the branches that swarm must not move, each with the folder of the worktree that uses it. A worktree
 * uses a branch if it has checked out the branch, or if a rebase or bisection of the branch is in progress.
 */
export async function branchesInUse(
  refs: Pick<RefStore, "worktrees">,
  commonFolder: string,
): Promise<ReadonlyMap<string, string>> {
  const used = new Map<string, string>();
  for (const worktree of (await refs.worktrees()).split("\0\0")) {
    const lines = worktree.split("\0");
    const ref = lines.find((line) => line.startsWith("branch "))?.slice("branch ".length);
    const folder = lines.find((line) => line.startsWith("worktree "))?.slice("worktree ".length);
    if (ref?.startsWith(heads)) used.set(ref.slice(heads.length), folder ?? commonFolder);
  }
  const linked = await readdir(join(commonFolder, "worktrees")).catch(() => []);
  for (const folder of [commonFolder, ...linked.map((name) => join(commonFolder, "worktrees", name))])
    for (const file of ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"]) {
      const text = (await readFile(join(folder, file), "utf8").catch(() => "")).trim();
      if (text !== "") used.set(text.startsWith(heads) ? text.slice(heads.length) : text, folder);
    }
  return used;
}
