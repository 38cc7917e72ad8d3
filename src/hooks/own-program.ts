import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { findWorktree } from "./find-swarm.ts";

export interface InstalledProgram {
  /** As it is typed. */
  readonly program: string;
  /** What it runs. */
  readonly files: readonly string[];
}

/**
 * Why an agent that works in a folder, or another user, could put something else in the place of the installed program; null
 * where neither can.
 */
export function whyReplaceable({ program, files }: InstalledProgram, cwd: string): string | null {
  if (!lstatSync(program).isFile()) return `${program} is no regular file`;
  const project = realpathSync(findWorktree(cwd) ?? cwd);
  for (const file of [program, ...files].map((path) => realpathSync(path))) {
    if (`${file}/`.startsWith(`${project}/`)) return `${file} lies in the project, where the agent may write`;
    for (let path = file; ; path = dirname(path)) {
      if (isOpen(lstatSync(path))) return `${path} can be written by others`;
      if (path === dirname(path)) break;
    }
  }
  return null;
}

const [groupWrites, othersWrite, sticky] = [0o020, 0o002, 0o1000];

/** Whether somebody else can change it. In a sticky folder like `/tmp` only who made an entry can. */
function isOpen(stats: Stats): boolean {
  const me = process.getuid?.();
  if (stats.uid !== 0 && stats.uid !== me) return true;
  if (stats.isDirectory() && (stats.mode & sticky) !== 0) return false;
  // A group of one's own name has nobody else in it.
  const isOwnGroup = stats.gid === me && stats.gid === process.getgid?.();
  return (stats.mode & othersWrite) !== 0 || ((stats.mode & groupWrites) !== 0 && !isOwnGroup);
}

/** Whether a file with such a name is one of the project's task files, and no way to somewhere else. */
export function isTaskFile(cwd: string, file: string): boolean {
  try {
    const folder = join(realpathSync(findWorktree(cwd) ?? cwd), ".aimi", "tasks");
    return realpathSync(join(dirname(dirname(folder)), file)) === join(folder, file.split("/").at(-1) ?? "");
  } catch {
    // The command itself says that there is none.
    return true;
  }
}
