import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readSmall } from "../state/read-small.ts";
import { findWorktree } from "./find-swarm.ts";

export interface InstalledProgram {
  /** As it is typed. */
  readonly program: string;
  /** What it runs, and folders of which it runs what lies in them. */
  readonly parts: readonly string[];
}

/** Where an agent is at work. */
export interface WorkPlace {
  readonly cwd: string;
  /** The project of its session; null where it does not say. */
  readonly projectFolder: string | null;
}

/** Why a command that is typed there is not one of this project's session; null where it is. */
export function whyElsewhere({ cwd, projectFolder }: WorkPlace): string | null {
  if (projectFolder === null || findWorktree(cwd) === findWorktree(projectFolder)) return null;
  return "it is typed in another repository than the session's";
}

/**
 * Why an agent in that place, or another user, could put something else in the place of the installed program; null where neither
 * can. Each step on the way to it counts, links among them: whoever can turn one round decides what runs.
 */
export function whyReplaceable({ program, parts }: InstalledProgram, place: WorkPlace): string | null {
  const folders = [place.cwd, ...(place.projectFolder === null ? [] : [place.projectFolder])];
  const projects = folders.flatMap((folder) => [realpathSync(folder), findWorktree(folder) ?? []].flat());
  if (!lstatSync(program).isFile()) return `${program} is no regular file`;
  for (const path of [program, process.execPath, ...parts.flatMap(withContents)]) {
    const why = whyOpen(path, projects);
    if (why !== null) return why;
  }
  return null;
}

function withContents(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return stats.isDirectory() ? [path, ...readdirSync(path).map((name) => join(path, name))] : [path];
}

const mostLinks = 40;

/** Goes the way to a path as the kernel does. */
function whyOpen(path: string, projects: readonly string[]): string | null {
  let links = 0;
  const judge = (way: string): string | null => {
    const parent = dirname(way);
    if (parent !== way) {
      const before = judge(parent);
      if (before !== null) return before;
    }
    const real = join(realpathSync(parent), basename(way));
    const inside = projects.find((project) => `${real}/`.startsWith(project === "/" ? "/" : `${project}/`));
    if (inside !== undefined) return `${way} lies in the project, where the agent may write`;
    const stats = lstatSync(real);
    if (!stats.isSymbolicLink()) return whyOthersWrite(way, stats);
    links += 1;
    // What a link says is as safe as the folder that it lies in, which was judged above.
    return links > mostLinks
      ? `${path} has too many links`
      : judge(resolve(dirname(real), readlinkSync(real)));
  };
  return judge(path);
}

const [groupWrites, othersWrite, sticky] = [0o020, 0o002, 0o1000];

/** Why somebody else can change it. In a sticky folder like `/tmp` only who made an entry can. */
function whyOthersWrite(path: string, stats: Stats): string | null {
  if (stats.uid !== 0 && stats.uid !== process.getuid?.()) return `${path} belongs to another user`;
  if (stats.isDirectory() && (stats.mode & sticky) !== 0) return null;
  const isOpen =
    (stats.mode & othersWrite) !== 0 || ((stats.mode & groupWrites) !== 0 && !isOwnGroup(stats.gid));
  return isOpen ? `${path} can be written by others` : null;
}

const mostAccountBytes = 1024 * 1024;

/** Whether nobody else is in a group, as where everybody has one of their own. */
function isOwnGroup(gid: number): boolean {
  if (gid !== process.getgid?.()) return false;
  const rows = (file: string): string[][] =>
    (readSmall(file, mostAccountBytes) ?? "").split("\n").map((row) => row.split(":"));
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

/** Whether a file with such a name is one of the project's task files, and no way to somewhere else. */
export function isTaskFile(cwd: string, file: string): boolean {
  const root = findWorktree(cwd) ?? realpathSync(cwd);
  const expected = join(root, ".aimi", "tasks", basename(file));
  try {
    return realpathSync(join(root, file)) === expected;
  } catch (error) {
    // The command itself says that there is none.
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
