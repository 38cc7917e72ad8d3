import { joinPath } from "../domain/tree-path.ts";
import type { CleanRoom } from "./clean-room.ts";

/** A file that differs between two commits. */
export interface ChangedEntry {
  readonly path: string;
  /** As it is now; 000000 where it is gone. */
  readonly mode: string;
  readonly id: string;
  readonly oldId: string;
}

/** A folder of which two versions are to be compared. */
interface Folder {
  readonly path: string;
  readonly oldId: string;
  readonly id: string;
}

/** More is nobody's work of a night, and nobody could look at it. */
const [mostEntries, mostDepth, mostTreeBytes] = [100_000, 200, 64 * 1024 * 1024];

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const folderMode = "040000";

/**
 * What differs, by path. Folder by folder and counted, since git holds all of a recursive comparison in memory before it
 * prints a word: folders that hold themselves ten times, ten levels deep, are a few hundred bytes and take all of it.
 */
export async function changedEntries(
  room: CleanRoom,
  base: string,
  tip: string,
): Promise<{ readonly entries: readonly ChangedEntry[]; readonly isCut: boolean }> {
  const trees = (await room.text(["rev-parse", "--verify", `${base}^{tree}`])).trim();
  const now = (await room.text(["rev-parse", "--verify", `${tip}^{tree}`])).trim();
  const entries: ChangedEntry[] = [];
  let folders: Folder[] = trees === now ? [] : [{ path: "", oldId: trees, id: now }];
  for (let depth = 0; folders.length > 0; depth += 1) {
    const isTooMuch = entries.length + folders.length > mostEntries || depth > mostDepth;
    if (isTooMuch || (await bytesOf(room, folders)) > mostTreeBytes)
      return { entries: sorted(entries), isCut: true };
    const next: Folder[] = [];
    for (const { mode, oldMode, ...entry } of await compare(room, folders)) {
      const [isFolder, wasFolder] = [mode === folderMode, oldMode === folderMode];
      if (isFolder || wasFolder)
        next.push({
          path: entry.path,
          oldId: wasFolder ? entry.oldId : emptyTree,
          id: isFolder ? entry.id : emptyTree,
        });
      else entries.push({ ...entry, mode });
    }
    folders = next;
  }
  return { entries: sorted(entries), isCut: false };
}

function sorted(entries: readonly ChangedEntry[]): ChangedEntry[] {
  return entries.toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
}

async function bytesOf(room: CleanRoom, folders: readonly Folder[]): Promise<number> {
  const ids = [...new Set(folders.flatMap(({ oldId, id }) => [oldId, id]))];
  const rows = await room.text(["cat-file", "--batch-check=%(objectsize)"], { input: lines(ids) });
  const sizes = new Map(rows.split("\n").map((size, at) => [ids[at], Number(size)]));
  return folders.reduce((sum, { oldId, id }) => sum + (sizes.get(oldId) ?? 0) + (sizes.get(id) ?? 0), 0);
}

/** One level: for each folder a line with its two trees, then what differs in it, each with a name. */
async function compare(
  room: CleanRoom,
  folders: readonly Folder[],
): Promise<(ChangedEntry & { readonly oldMode: string })[]> {
  const { output } = await room.git(["diff-tree", "--stdin", "--raw", "-z", "--no-renames"], {
    input: lines(folders.map(({ oldId, id }) => `${oldId} ${id}`)),
  });
  const found: (ChangedEntry & { readonly oldMode: string })[] = [];
  let folder = -1;
  for (let at = 0; at < output.length; ) {
    if (output[at] !== 0x3a) {
      folder += 1;
      at = output.indexOf(10, at) + 1;
      continue;
    }
    const nameAt = output.indexOf(0, at) + 1;
    const end = output.indexOf(0, nameAt);
    const [, oldMode, mode, oldId, id] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]$/.exec(output.toString("latin1", at, nameAt - 1)) ?? [];
    const parent = folders[folder];
    if (!oldMode || !mode || !oldId || !id || !parent)
      throw new Error("git lists changes in a way of its own");
    const path = joinPath(parent.path, output.toString("utf8", nameAt, end));
    found.push({ path, oldMode, mode, oldId, id });
    at = end + 1;
  }
  return found;
}

function lines(rows: readonly string[]): Buffer {
  return Buffer.from(`${rows.join("\n")}\n`);
}
