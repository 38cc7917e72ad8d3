import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

/** A worktree and its git folders. */
export interface Repository {
  readonly root: string;
  /** Git folder of this worktree alone. */
  readonly gitFolder: string;
  /** Git folder that all worktrees share. */
  readonly commonFolder: string;
  /** Name of this worktree within the project: `.`, or git's name of a linked worktree. */
  readonly worktree: string;
}

/**
 * The repository around a folder, found without starting git, because `swarm status` has a tight time budget.
 * A test compares it with git's own answer for plain repositories, linked worktrees and submodules.
 */
export async function findRepository(folder: string): Promise<Repository | null> {
  let root = await realpath(folder);
  for (;;) {
    const gitFolder = await gitFolderIn(root);
    if (gitFolder) {
      const commonFolder = await commonFolderOf(gitFolder);
      return {
        root,
        gitFolder,
        commonFolder,
        worktree: gitFolder === commonFolder ? "." : basename(gitFolder),
      };
    }
    const parent = dirname(root);
    if (parent === root) return null;
    root = parent;
  }
}

async function gitFolderIn(root: string): Promise<string | null> {
  const path = join(root, ".git");
  const stats = await stat(path).catch(() => null);
  if (!stats) return null;
  if (stats.isDirectory()) return (await isFile(join(path, "HEAD"))) ? realpath(path) : null;
  // In a linked worktree or submodule `.git` is a file that names the folder.
  const [, target] = /^gitdir: (.+)$/m.exec(await readFile(path, "utf8").catch(() => "")) ?? [];
  return target === undefined ? null : realpath(resolve(root, target)).catch(() => null);
}

async function commonFolderOf(gitFolder: string): Promise<string> {
  const target = (await readFile(join(gitFolder, "commondir"), "utf8").catch(() => "")).trim();
  if (target === "") return gitFolder;
  return realpath(isAbsolute(target) ? target : join(gitFolder, target));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}
