import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SwarmLineInput } from "../domain/swarm-line.ts";
import { findKernelLockHolder } from "../state/glance-at-holder.ts";
import { readSmallFile } from "../state/read-small.ts";

export interface FoundSwarm {
  readonly swarm: SwarmLineInput;
  /** The path of the git folder that belongs to the swarm's worktree. */
  readonly gitFolder: string;
  /**
   * Whether a process owns the swarm, according to the owner's lock file; also true if the lock file leaves
   * this uncertain.
   */
  readonly isOwned: boolean;
}

/** The maximum size of a state file to read: far more than the state of a thousand workers. */
const maxStateBytes = 8 * 1024 * 1024;
const maxNoteBytes = 16 * 1024;

/**
 * Finds the worktree that contains a folder; returns its real path, or null if the folder is outside of any
 * worktree.
 */
export function findWorktree(folder: string): string | null {
  for (let root = realpathSync(folder); ; root = dirname(root)) {
    if (gitFolderOf(root) !== null) return root;
    if (root === dirname(root)) return null;
  }
}

/**
 * Reads the swarm of the worktree that contains a folder from its state file. Returns null without a valid
 * state file, or if the repository itself brought the file, which makes it untrusted.
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
 * Finds a worktree's git folder; null if the folder is no worktree. In a linked worktree, `.git` is a file
 * that names the git folder.
 */
function gitFolderOf(root: string): string | null {
  const path = join(root, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isDirectory()) return lstatSync(join(path, "HEAD"), { throwIfNoEntry: false }) ? path : null;
  const [, target] = /^gitdir: (.+)$/m.exec(readSmallFile(path, maxNoteBytes) ?? "") ?? [];
  return target === undefined ? null : resolve(root, target);
}

/** Reads the ID that the project has on this machine. All worktrees of the project share the ID. */
function projectIdIn(gitFolder: string): unknown {
  const common = readSmallFile(join(gitFolder, "commondir"), maxNoteBytes)?.trim();
  const file = join(common ? resolve(gitFolder, common) : gitFolder, "aimi", "id");
  return (JSON.parse(readSmallFile(file, maxNoteBytes) ?? "null") as { id?: unknown } | null)?.id;
}

const statuses: readonly unknown[] = ["pending", "running", "completed", "failed", "stopped"];

/**
 * Returns the fields of a state that hooks show; null if they are invalid or belong to another project. Does
 * not use the full validator, which takes too long to load.
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
