import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { findKernelLockHolder } from "../machine/locks/lock-holder.ts";
import { readSmallFile } from "../machine/read-small-file.ts";
import type { SwarmLineInput } from "./rules/status-texts.ts";

export interface FoundSwarm {
  readonly swarm: SwarmLineInput;
  /** The path of the worktree's own git folder. */
  readonly gitFolder: string;
  /**
   * Whether a process owns the swarm, according to the owner's lock file. Also true if the lock file does not
   * allow a sure answer.
   */
  readonly isOwned: boolean;
}

/**
 * The maximum size in bytes of a state file to read: far more than the state of a swarm with a thousand
 * workers needs.
 */
const maxStateBytes = 8 * 1024 * 1024;
const maxNoteBytes = 16 * 1024;

/**
 * Finds the git worktree that contains a folder. Returns the worktree's real path, or null if the folder is
 * in no worktree.
 */
export function findWorktree(folder: string): string | null {
  for (let root = realpathSync(folder); ; root = dirname(root)) {
    if (gitFolderOf(root) !== null) return root;
    if (root === dirname(root)) return null;
  }
}

/**
 * Reads the swarm of the worktree that contains a folder from the worktree's state file. Returns null if no
 * valid state file exists, or if the file is untrusted because it comes from the repository itself.
 */
export function findSwarm(folder: string): FoundSwarm | null {
  try {
    const root = findWorktree(folder);
    const gitFolder = root && gitFolderOf(root);
    if (root === null || gitFolder === null) return null;
    if (realpathSync(join(root, ".aimi")) !== join(root, ".aimi")) return null;
    const text = readSmallFile(join(root, ".aimi", "swarm-state.json"), maxStateBytes);
    const state: unknown = JSON.parse(text ?? "null");
    const swarm = parseShown(state, projectIdIn(gitFolder));
    if (swarm === null) return null;
    return {
      swarm,
      gitFolder,
      isOwned: findKernelLockHolder(join(gitFolder, "aimi", "owner.lock")) !== null,
    };
  } catch {
    // `swarm status` reports an invalid state file; a hook shows nothing.
    return null;
  }
}

/**
 * Finds the git folder of the worktree whose root is the given folder; null if the folder is no such root. In
 * a linked worktree, `.git` is a file that names the git folder.
 */
function gitFolderOf(root: string): string | null {
  const path = join(root, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isDirectory()) return lstatSync(join(path, "HEAD"), { throwIfNoEntry: false }) ? path : null;
  const [, target] = /^gitdir: (.+)$/m.exec(readSmallFile(path, maxNoteBytes) ?? "") ?? [];
  return target === undefined ? null : resolve(root, target);
}

/** Reads the ID that swarm gave to the project on this machine. All worktrees of the project share the ID. */
function projectIdIn(gitFolder: string): unknown {
  const common = readSmallFile(join(gitFolder, "commondir"), maxNoteBytes)?.trim();
  const file = join(common ? resolve(gitFolder, common) : gitFolder, "aimi", "id");
  return (JSON.parse(readSmallFile(file, maxNoteBytes) ?? "null") as { id?: unknown } | null)?.id;
}

const statuses: readonly unknown[] = ["pending", "running", "completed", "failed", "stopped"];

/**
 * Returns the fields of a swarm's state that hooks show; null if these are invalid or belong to another
 * project. Does not use the validator of the whole state, which takes too long to load.
 */
function parseShown(state: unknown, projectId: unknown): SwarmLineInput | null {
  const { swarmId, containers, project } = (state ?? {}) as Partial<
    SwarmLineInput & { project: { id: unknown } }
  >;
  if (typeof projectId !== "string" || project?.id !== projectId) return null;
  if (typeof swarmId !== "string" || !/^[0-9a-f-]{36}$/.test(swarmId) || !Array.isArray(containers))
    return null;
  const isGood = containers.every(
    ({ status, usage }: SwarmLineInput["containers"][number]) =>
      statuses.includes(status) &&
      (usage === null || usage.costUsd === null || Number.isFinite(usage.costUsd)),
  );
  return isGood ? { swarmId, containers } : null;
}
