import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { SwarmError } from "../errors/errors.ts";

/** A git worktree, with the paths of its git folders. */
export interface Repository {
  readonly root: string;
  /** The git folder that belongs only to this worktree. */
  readonly gitFolder: string;
  /** The git folder that all worktrees of the repository share. */
  readonly commonFolder: string;
  /**
   * The name by which swarm distinguishes the worktrees of a project: `.` for the main worktree, else git's
   * name of the linked worktree.
   */
  readonly worktree: string;
}

/**
 * Finds the git repository that contains a folder, or returns null. Reads the files in `.git` directly,
 * because starting git would make `swarm status` slow.
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

/** Finds the git repository that contains a folder, or throws NOT_A_REPOSITORY. */
export async function requireRepository(folder: string): Promise<Repository> {
  const found = await findRepository(folder);
  if (!found) throw new SwarmError("NOT_A_REPOSITORY", { folder });
  return found;
}

async function gitFolderIn(root: string): Promise<string | null> {
  const path = join(root, ".git");
  const stats = await stat(path).catch(() => null);
  if (!stats) return null;
  if (stats.isDirectory()) return (await isFile(join(path, "HEAD"))) ? realpath(path) : null;
  // In a linked worktree or submodule, `.git` is a file with the path of the git folder.
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
