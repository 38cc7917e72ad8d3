import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isSystemError } from "../errors/system-errors.ts";
import { readSmallFile } from "../machine/read-small-file.ts";
import { findWorktree } from "./find-swarm.ts";

export interface InstalledSwarmProgram {
  /** The path of swarm's executable, as the agent's command names it. */
  readonly program: string;
  /** The paths of files and folders that the executable loads. */
  readonly parts: readonly string[];
  /**
   * The path of a folder from which swarm's executable loads files. The hook also checks each entry of this
   * folder.
   */
  readonly contents: string;
}

/** The working folder and the project folder of an agent's session in Claude Code. */
export interface SessionFolders {
  readonly cwd: string;
  /** The path of the project in which the session was started; null if unknown. */
  readonly projectFolder: string | null;
}

/**
 * Returns why the hook must not approve a command whose working folder is outside the session's project. Null
 * if the working folder is inside, or if the project is unknown.
 */
export function whyCommandOutsideProject({ cwd, projectFolder }: SessionFolders): string | null {
  if (projectFolder === null || findWorktree(cwd) === findWorktree(projectFolder)) return null;
  return "the command runs outside the worktree of the Claude Code session";
}

/**
 * Returns why the agent or another user could replace swarm's installed program; null if neither can. Also
 * checks each folder and link on the program's path, because replacing one of these replaces the program.
 */
export function whyProgramReplaceable(
  { program, parts, contents }: InstalledSwarmProgram,
  place: SessionFolders,
): string | null {
  if (!lstatSync(program).isFile()) return `${program} is not a regular file`;
  const judge = judgeOf(place);
  for (const path of [program, process.execPath, ...parts, contents]) {
    const why = judge(path);
    if (why !== null) return why;
  }
  for (const name of readdirSync(contents)) {
    const path = `${contents}/${name}`;
    const stats = lstatSync(path);
    const why = stats.isSymbolicLink() ? judge(path) : whyOthersWrite(path, stats);
    if (why !== null) return why;
  }
  return null;
}

/** Returns why the agent or another user could change or replace a file; null if neither can. */
export function whyFileChangeable(file: string, place: SessionFolders): string | null {
  return judgeOf(place)(file);
}

/**
 * Returns the folders in which the agent may write: the working folder, the session's project, and the
 * worktrees that contain these two folders.
 */
function projectsOf({ cwd, projectFolder }: SessionFolders): string[] {
  const folders = [cwd, ...(projectFolder === null ? [] : [projectFolder])];
  return folders.flatMap((folder) => [realpathSync(folder), findWorktree(folder) ?? []].flat());
}

const maxSteps = 10_000;

/**
 * Returns a function that says why the agent or another user could change a path; null if neither can. The
 * function checks each folder and symbolic link on the path, and caches the results.
 */
function judgeOf(place: SessionFolders): (path: string) => string | null {
  const projects = projectsOf(place);
  const known = new Map<string, string | null>();
  const realOf = new Map<string, string>();
  const judge = (way: string): string | null => {
    const before = known.get(way);
    if (before !== undefined) return before;
    if (known.size > maxSteps) return `swarm must follow too many symbolic links to reach ${way}`;
    // A preliminary verdict: if the resolution returns to this path before the verdict is final, the links
    // form a cycle.
    known.set(way, `${way} is a symbolic link that leads to itself`);
    const why = judgeStep(way);
    known.set(way, why);
    return why;
  };
  const judgeStep = (way: string): string | null => {
    const parent = dirname(way);
    const above = parent === way ? null : judge(parent);
    if (above !== null) return above;
    const real = join(realOf.get(parent) ?? realpathSync(parent), basename(way));
    const inside = projects.find((project) => `${real}/`.startsWith(project === "/" ? "/" : `${project}/`));
    if (inside !== undefined) return `${way} lies in the project, where the agent may write`;
    const stats = lstatSync(real);
    if (!isOurs(stats)) return `${way} belongs to another user`;
    // A symbolic link has no permissions of its own. The folder that contains the link was checked above.
    if (stats.isSymbolicLink()) return judge(resolve(dirname(real), readlinkSync(real)));
    if (stats.isDirectory()) realOf.set(way, real);
    return whyOthersWrite(way, stats);
  };
  return judge;
}

const [groupWrites, othersWrite, sticky] = [0o020, 0o002, 0o1000];

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/**
 * Returns why another user could change a file or folder; null if no other user can. In a sticky folder such
 * as `/tmp`, only an entry's owner can replace the entry.
 */
function whyOthersWrite(path: string, stats: Stats): string | null {
  if (!isOurs(stats)) return `${path} belongs to another user`;
  if (stats.isDirectory() && (stats.mode & sticky) !== 0) return null;
  const isOpen =
    (stats.mode & othersWrite) !== 0 || ((stats.mode & groupWrites) !== 0 && !isOwnGroup(stats.gid));
  return isOpen ? `other users can write to ${path}` : null;
}

const maxAccountBytes = 1024 * 1024;

/**
 * Whether the current user is the only member of a Unix group, as on systems that give each user a private
 * group.
 */
function isOwnGroup(gid: number): boolean {
  if (gid !== process.getgid?.()) return false;
  const rows = (file: string): string[][] =>
    (readSmallFile(file, maxAccountBytes) ?? "").split("\n").map((row) => row.split(":"));
  const users = rows("/etc/passwd");
  const me = users.find(([, , uid]) => Number(uid) === process.getuid?.())?.[0];
  const group = rows("/etc/group").find(([, , id]) => Number(id) === gid);
  if (me === undefined || !group) return false;
  const members = (group[3] ?? "").split(",").filter(Boolean);
  const others = users.filter(
    ([name, , , primary]) => name !== me && primary !== "" && Number(primary) === gid,
  );
  return others.length === 0 && members.every((name) => name === me);
}

/**
 * Whether a path is that of a task file in the worktree's task folder. A link that leads out of the task
 * folder does not count.
 */
export function isTaskFile(cwd: string, file: string): boolean {
  const root = findWorktree(cwd) ?? realpathSync(cwd);
  const expected = join(root, ".aimi", "tasks", basename(file));
  try {
    return realpathSync(join(root, file)) === expected;
  } catch (error) {
    // A missing file is no danger: the approved command itself reports it.
    return isSystemError(error, "ENOENT");
  }
}
