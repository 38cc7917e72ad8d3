import { formatBytes } from "../text/duration-and-size.ts";
import { joinPath } from "../text/tree-path.ts";
import type { GitObjectReader } from "./object-reader.ts";
import { type GitTreeEntry, pairTreeEntries } from "./pair-tree-entries.ts";
import { createGitError } from "./start-git.ts";
import type { BundleRefusal } from "./work-repository-port.ts";

/** A file that differs between the two compared commits. */
export interface ChangedEntry {
  readonly path: string;
  /** The file's git mode in the newer commit, or 000000 if the newer commit does not have the file. */
  readonly mode: string;
  readonly id: string;
  readonly oldId: string;
}

/** The reason why swarm did not read all differences between the two commits. */
export interface UnreadReason {
  readonly why: Extract<BundleRefusal, "too-deep" | "too-many" | "too-long" | "incomplete">;
  readonly reason: string;
}

export interface TreeReadLimits {
  /** The maximum number of changed files and changed folders in total. */
  readonly maxEntries: number;
  readonly maxDepth: number;
  /**
   * The maximum length of one changed path in bytes. `maxTotalPathBytes` limits the sum of all their lengths.
   */
  readonly maxPathBytes: number;
  readonly maxTotalPathBytes: number;
  /**
   * The maximum total size of the git tree objects to read from both commits, in bytes. This limit bounds the
   * memory use.
   */
  readonly maxTreeBytes: number;
}

/**
 * The default limits. The work of one swarm normally stays far below these limits. `maxPathBytes` is the
 * length of the longest path that Linux can open.
 */
export const defaultTreeReadLimits: TreeReadLimits = {
  maxEntries: 100_000,
  maxDepth: 200,
  maxPathBytes: 4095,
  maxTotalPathBytes: 16 * 1024 * 1024,
  maxTreeBytes: 20 * 1024 * 1024,
};

interface ChangesToRead {
  readonly base: string;
  readonly tip: string;
  readonly limits?: TreeReadLimits;
  /**
   * Called for each changed file, in the order of the paths. `readChangedEntries` awaits each call before the
   * next one.
   */
  readonly onEntry: (entry: ChangedEntry) => Promise<void> | void;
}

const folderMode = "040000";
const [noMode, nothing] = ["000000", "0".repeat(40)];

/**
 * A folder to compare in the two commits. `oldId` or `id` is null if that commit does not have the folder.
 */
interface Folder {
  readonly path: string;
  readonly pathBytes: number;
  readonly depth: number;
  readonly oldId: string | null;
  readonly id: string | null;
}

interface Walk extends Pick<ChangesToRead, "onEntry"> {
  readonly objects: GitObjectReader;
  readonly limits: TreeReadLimits;
  entries: number;
  bytesOfPaths: number;
  treeBytes: number;
}

/**
 * Reads the differences between two commits folder by folder. Returns null if all differences were read, else
 * the reason why not, such as an exceeded limit. Does not use `git diff-tree`, which keeps all differences in
 * memory: a few hundred bytes of nested folders can stand for billions of files.
 */
export async function readChangedEntries(
  objects: GitObjectReader,
  { base, tip, limits = defaultTreeReadLimits, onEntry }: ChangesToRead,
): Promise<UnreadReason | null> {
  const [was, now] = await objects.readFacts([`${base}^{tree}`, `${tip}^{tree}`]);
  if (!was || !now) {
    const reason = "a commit object has no tree";
    if (was) return { why: "incomplete", reason };
    throw createGitError(["cat-file"], reason);
  }
  if (was.id === now.id) return null;
  const walk: Walk = { objects, limits, onEntry, entries: 0, bytesOfPaths: 0, treeBytes: 0 };
  return readFolder(walk, { path: "", pathBytes: 0, depth: 0, oldId: was.id, id: now.id });
}

async function readFolder(walk: Walk, folder: Folder): Promise<UnreadReason | null> {
  const { maxDepth } = walk.limits;
  if (folder.depth > maxDepth)
    return { why: "too-deep", reason: `the commit's folders are nested more than ${maxDepth} levels deep` };
  const trees = await treesOf(walk, folder);
  if ("why" in trees) return trees;
  for (const [old, row] of pairTreeEntries(trees.was, trees.now)) {
    const some = row ?? old;
    if (!some) continue;
    const [oldId, id] = [old?.id() ?? null, row?.id() ?? null];
    if (oldId === id && old?.mode === row?.mode) continue;
    const excess = count(walk, folder, some);
    if (excess) return excess;
    const path = joinPath(folder.path, some.name());
    const [wasFolder, isFolder] = [old?.mode === folderMode, row?.mode === folderMode];
    if (!wasFolder && !isFolder) {
      await walk.onEntry({ path, mode: row?.mode ?? noMode, id: id ?? nothing, oldId: oldId ?? nothing });
      continue;
    }
    const unread = await readFolder(walk, {
      path,
      pathBytes: pathBytesOf(folder, some),
      depth: folder.depth + 1,
      oldId: wasFolder ? oldId : null,
      id: isFolder ? id : null,
    });
    if (unread) return unread;
  }
  return null;
}

/**
 * Counts a changed file or folder against the limits before its name is decoded. Returns the exceeded limit,
 * or null if none is exceeded.
 */
function count(walk: Walk, folder: Folder, row: GitTreeEntry): UnreadReason | null {
  const { maxEntries, maxPathBytes, maxTotalPathBytes } = walk.limits;
  const bytes = pathBytesOf(folder, row);
  walk.entries += 1;
  walk.bytesOfPaths += bytes;
  if (walk.entries > maxEntries)
    return { why: "too-many", reason: `the commit changes more than ${maxEntries} files and folders` };
  if (bytes > maxPathBytes)
    return { why: "too-long", reason: `a changed path is longer than ${maxPathBytes} bytes` };
  if (walk.bytesOfPaths > maxTotalPathBytes)
    return {
      why: "too-long",
      reason: `the changed paths are longer than ${formatBytes(maxTotalPathBytes)} in total`,
    };
  return null;
}

function pathBytesOf({ path, pathBytes }: Folder, { nameBytes }: GitTreeEntry): number {
  return path === "" ? nameBytes : pathBytes + 1 + nameBytes;
}

/** Reads a folder's tree objects in both commits, unless they are too large. */
async function treesOf(
  walk: Walk,
  { oldId, id }: Folder,
): Promise<{ readonly was: Buffer; readonly now: Buffer } | UnreadReason> {
  const { objects, limits } = walk;
  const ids = [oldId, id].filter((each) => each !== null);
  const facts = await objects.readFacts(ids);
  const missing = ids.find((_, at) => facts[at]?.type !== "tree");
  if (missing !== undefined) {
    const reason = `the git tree ${missing} is missing, or the object is not a tree`;
    // The base commit belongs to the user, so a missing tree in it is a fault of this repository, not of the
    // work.
    if (missing === oldId) throw createGitError(["cat-file"], reason);
    return { why: "incomplete", reason };
  }
  walk.treeBytes += facts.reduce((sum, fact) => sum + (fact?.bytes ?? 0), 0);
  if (walk.treeBytes > limits.maxTreeBytes)
    return {
      why: "too-many",
      reason: `the git trees of the changed folders are larger than ${formatBytes(limits.maxTreeBytes)} in total`,
    };
  const contents: Buffer[] = [];
  for await (const content of objects.readContents(ids)) contents.push(content);
  const none = Buffer.alloc(0);
  return {
    was: oldId === null ? none : (contents[0] ?? none),
    now: id === null ? none : (contents.at(-1) ?? none),
  };
}
