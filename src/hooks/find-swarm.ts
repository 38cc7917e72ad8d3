import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ShownSwarm } from "../domain/swarm-line.ts";
import { glanceAtHolder } from "../state/glance-at-holder.ts";

export interface FoundSwarm {
  readonly swarm: ShownSwarm;
  /** As far as can be told without asking anybody; where that is unclear, somebody acts on it. */
  readonly isOwned: boolean;
}

/** The worktree around a folder; null outside of any. */
export function findWorktree(folder: string): string | null {
  for (let root = resolve(folder); ; root = dirname(root)) {
    if (existsSync(join(root, ".git"))) return root;
    if (root === dirname(root)) return null;
  }
}

/** The swarm of the worktree around a folder, as its state file tells it; null where there is none to be told of. */
export function findSwarm(folder: string): FoundSwarm | null {
  try {
    const root = findWorktree(folder);
    if (root === null) return null;
    const file = join(root, ".aimi", "swarm-state.json");
    const state: unknown = statSync(file).isFile() && JSON.parse(readFileSync(file, "utf8"));
    const swarm = parseShown(state);
    if (swarm === null) return null;
    const holder = glanceAtHolder(join(gitFolderOf(root), "aimi", "owner.lock"));
    return { swarm, isOwned: holder !== null };
  } catch {
    // Whoever types `swarm status` is told what is wrong with it.
    return null;
  }
}

const statuses: readonly unknown[] = ["pending", "running", "completed", "failed", "stopped"];

/** As far as it is shown, without the validator that takes as long to load as all the rest; null for what is no state. */
function parseShown(state: unknown): ShownSwarm | null {
  const { swarmId, containers } = (state ?? {}) as Partial<ShownSwarm>;
  if (typeof swarmId !== "string" || !/^[0-9a-f-]{36}$/.test(swarmId) || !Array.isArray(containers))
    return null;
  const isGood = containers.every(
    ({ status, usage }: ShownSwarm["containers"][number]) =>
      statuses.includes(status) && (usage === null || ["number", "object"].includes(typeof usage.costUsd)),
  );
  return isGood ? { swarmId, containers } : null;
}

/** In a linked worktree `.git` is a file that names the folder. */
function gitFolderOf(root: string): string {
  const path = join(root, ".git");
  if (statSync(path).isDirectory()) return path;
  const [, target = ""] = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8")) ?? [];
  return resolve(root, target);
}
