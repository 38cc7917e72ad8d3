import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ShownSwarm } from "../domain/swarm-line.ts";
import { glanceAtHolder } from "../state/glance-at-holder.ts";
import { readSmall } from "../state/read-small.ts";

export interface FoundSwarm {
  readonly swarm: ShownSwarm;
  /** The git folder of its worktree. */
  readonly gitFolder: string;
  /** Whether an owner runs, judged from its lock file alone; true when that is unclear. */
  readonly isOwned: boolean;
}

/** Far more than the state of a thousand workers. */
const maxStateBytes = 8 * 1024 * 1024;
const maxNoteBytes = 16 * 1024;

/** The worktree around a folder, as its real path; null outside of any. */
export function findWorktree(folder: string): string | null {
  for (let root = realpathSync(folder); ; root = dirname(root)) {
    if (gitFolderOf(root) !== null) return root;
    if (root === dirname(root)) return null;
  }
}

/**
 * The swarm of the worktree around a folder, from its state file. Null when there is none, and for a state file that
 * came with the repository: its text is not trusted.
 */
export function findSwarm(folder: string): FoundSwarm | null {
  try {
    const root = findWorktree(folder);
    const gitFolder = root && gitFolderOf(root);
    if (root === null || gitFolder === null) return null;
    if (realpathSync(join(root, ".aimi")) !== join(root, ".aimi")) return null;
    const text = readSmall(join(root, ".aimi", "swarm-state.json"), maxStateBytes);
    const state: unknown = JSON.parse(text ?? "null");
    const swarm = parseShown(state, projectIdIn(gitFolder));
    if (swarm === null) return null;
    return { swarm, gitFolder, isOwned: glanceAtHolder(join(gitFolder, "aimi", "owner.lock")) !== null };
  } catch {
    // Ignores an invalid state: `swarm status` reports the error.
    return null;
  }
}

/** The git folder, which a linked worktree names in a file `.git`; null when there is none. */
function gitFolderOf(root: string): string | null {
  const path = join(root, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isDirectory()) return lstatSync(join(path, "HEAD"), { throwIfNoEntry: false }) ? path : null;
  const [, target] = /^gitdir: (.+)$/m.exec(readSmall(path, maxNoteBytes) ?? "") ?? [];
  return target === undefined ? null : resolve(root, target);
}

/** The id of the project on this machine, which all its worktrees share. */
function projectIdIn(gitFolder: string): unknown {
  const common = readSmall(join(gitFolder, "commondir"), maxNoteBytes)?.trim();
  const file = join(common ? resolve(gitFolder, common) : gitFolder, "aimi", "id");
  return (JSON.parse(readSmall(file, maxNoteBytes) ?? "null") as { id?: unknown } | null)?.id;
}

const statuses: readonly unknown[] = ["pending", "running", "completed", "failed", "stopped"];

/**
 * Checks the shown fields only, without the validator, which takes as long to load as all the rest. Null when it is
 * no state of this project.
 */
function parseShown(state: unknown, projectId: unknown): ShownSwarm | null {
  const { swarmId, containers, project } = (state ?? {}) as Partial<
    ShownSwarm & { project: { id: unknown } }
  >;
  if (typeof projectId !== "string" || project?.id !== projectId) return null;
  if (typeof swarmId !== "string" || !/^[0-9a-f-]{36}$/.test(swarmId) || !Array.isArray(containers))
    return null;
  const isGood = containers.every(
    ({ status, usage }: ShownSwarm["containers"][number]) =>
      statuses.includes(status) &&
      (usage === null || usage.costUsd === null || Number.isFinite(usage.costUsd)),
  );
  return isGood ? { swarmId, containers } : null;
}
