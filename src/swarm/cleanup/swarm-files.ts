import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Repository } from "../../git/find-repository.ts";
import { resolvesInsideFolder } from "../../machine/path-containment.ts";

/**
 * The files that the swarms of a worktree leave behind: journals, archived states and stored requests of the
 * user. Removing these files loses no work of agents.
 */
export interface SwarmFiles {
  /** Returns the IDs of the swarms that left files in the worktree. */
  list(): Promise<string[]>;
  /** Removes the files that one swarm left; does nothing if there are none. */
  remove(swarmId: string): Promise<void>;
}

const swarmId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Lists and removes each swarm's folders below `.aimi/swarms` in the worktree and below `aimi/requests` in
 * the git folder.
 */
export function openSwarmFiles({ root, gitFolder }: Pick<Repository, "root" | "gitFolder">): SwarmFiles {
  const inWorktree = join(root, ".aimi", "swarms");
  const inGitFolder = join(gitFolder, "aimi", "requests");

  /**
   * Returns the folders that contain the folders of swarms. Omits the worktree's folder if a symbolic link
   * leads out of the worktree, because an untrusted repository may contain links to any path.
   */
  const folders = async (): Promise<string[]> =>
    (await resolvesInsideFolder(root, inWorktree)) ? [inWorktree, inGitFolder] : [inGitFolder];

  return {
    async list() {
      const names = await Promise.all((await folders()).map(async (folder) => namesIn(folder)));
      return [...new Set(names.flat())].sort();
    },

    async remove(id) {
      if (!swarmId.test(id)) throw new Error(`${JSON.stringify(id)} is not the id of a swarm`);
      for (const folder of await folders()) await rm(join(folder, id), { recursive: true, force: true });
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && swarmId.test(entry.name)).map(({ name }) => name);
}
