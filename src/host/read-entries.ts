import { SwarmError } from "../domain/errors.ts";
import { joinPath } from "../domain/tree-path.ts";
import type { CleanRoom } from "./clean-room.ts";
import { pairsOf } from "./read-tree.ts";

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
const [noMode, nothing] = ["000000", "0".repeat(40)];

/**
 * What differs, by path. Folder by folder and counted, since git holds all of a recursive comparison in memory before it
 * prints a word: folders that hold themselves ten times, ten levels deep, are a few hundred bytes and take all of it.
 */
export async function changedEntries(
  room: CleanRoom,
  base: string,
  tip: string,
): Promise<{ readonly entries: readonly ChangedEntry[]; readonly isCut: boolean }> {
  const [was, now] = await room.objects.about([`${base}^{tree}`, `${tip}^{tree}`]);
  if (!was || !now)
    throw new SwarmError("GIT_FAILED", { command: "cat-file", reason: "a commit has no tree" });
  const entries: ChangedEntry[] = [];
  let folders: Folder[] = was.id === now.id ? [] : [{ path: "", oldId: was.id, id: now.id }];
  for (let depth = 0; folders.length > 0; depth += 1) {
    const isTooMuch = entries.length + folders.length > mostEntries || depth > mostDepth;
    if (isTooMuch || (await bytesOf(room, folders)) > mostTreeBytes)
      return { entries: sorted(entries), isCut: true };
    const next: Folder[] = [];
    for await (const { mode, oldMode, ...entry } of compare(room, folders)) {
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
  const sizes = new Map((await room.objects.about(ids)).map((facts, at) => [ids[at], facts?.bytes ?? 0]));
  return folders.reduce((sum, { oldId, id }) => sum + (sizes.get(oldId) ?? 0) + (sizes.get(id) ?? 0), 0);
}

/** One level: what differs between the two trees of each folder. Two trees at a time are in memory. */
async function* compare(
  room: CleanRoom,
  folders: readonly Folder[],
): AsyncGenerator<ChangedEntry & { readonly oldMode: string }> {
  let was: Buffer | null = null;
  let at = 0;
  for await (const tree of room.objects.contents(folders.flatMap(({ oldId, id }) => [oldId, id]))) {
    if (was === null) {
      was = tree;
      continue;
    }
    const path = folders[at]?.path ?? "";
    for (const [old, entry] of pairsOf(was, tree)) {
      const [oldId, id] = [old?.id ?? nothing, entry?.id ?? nothing];
      const [oldMode, mode] = [old?.mode ?? noMode, entry?.mode ?? noMode];
      if (oldId === id && oldMode === mode) continue;
      yield { path: joinPath(path, (entry ?? old)?.name ?? ""), oldMode, mode, oldId, id };
    }
    was = null;
    at += 1;
  }
}
