import { cleanText } from "../domain/clean-text.ts";
import { type ChangedPath, hasOtherScripts, sensitiveReason } from "../domain/sensitive-paths.ts";
import { nameOf } from "../domain/tree-path.ts";
import type { SensitiveChanges, WorkChanges } from "../ports/work-repository.ts";
import type { CleanRoom } from "./clean-room.ts";
import { type ChangedEntry, changedEntries } from "./read-entries.ts";
import { readSmallFiles } from "./small-files.ts";

/** More is in nobody's package.json, and no path is longer. */
const [mostManifestBytes, mostLinkBytes] = [1024 * 1024, 4096];
const [mostManifests, mostLinks] = [200, 20_000];
const mostShown = 1_000;
const limitMs = 120_000;

/** See `WorkRepository`. */
export async function readSensitivePaths(
  room: CleanRoom,
  base: string,
  tip: string,
): Promise<SensitiveChanges> {
  const { entries, isCut } = await changedEntries(room, base, tip);
  const linkEntries = entries.filter(isLink).slice(0, mostLinks);
  const allManifests = entries.filter(isManifest);
  const manifestEntries = allManifests.slice(0, mostManifests);
  const links = await readSmallFiles(
    room,
    linkEntries.map(({ id }) => id),
    mostLinkBytes,
  );
  const manifests = await readSmallFiles(
    room,
    manifestEntries.flatMap(({ id, oldId }) => [id, oldId]),
    mostManifestBytes,
  );

  const paths = entries.flatMap((entry) => {
    const changed: ChangedPath = {
      path: entry.path,
      // One that is too long to be read leads nowhere, and is worth a look.
      linkTo: isLink(entry) ? (links.get(entry.id) ?? "/") : null,
      hasOtherScripts: isManifest(entry) && otherScriptsIn(manifests, entry),
    };
    const why = sensitiveReason(changed);
    return why ? [{ path: cleanText(entry.path), why }] : [];
  });
  return { paths: paths.slice(0, mostShown), isCut: isCut || paths.length > mostShown };
}

function isLink({ mode }: ChangedEntry): boolean {
  return mode === "120000";
}

function isManifest({ mode, path }: ChangedEntry): boolean {
  return mode.startsWith("100") && nameOf(path).toLowerCase() === "package.json";
}

/** What is too large or was not read might have any. */
function otherScriptsIn(contents: ReadonlyMap<string, string | null>, { id, oldId }: ChangedEntry): boolean {
  const after = contents.get(id) ?? null;
  return after === null || hasOtherScripts(contents.get(oldId) ?? null, after);
}

/** See `WorkRepository`. */
export async function readChanges(room: CleanRoom, base: string, tip: string): Promise<WorkChanges> {
  const log = await room.git(
    [
      ...["log", "-z", "--topo-order", `--max-count=${mostShown + 1}`, "--no-show-signature", "--no-mailmap"],
      ...["--no-notes", "--format=%H%x00%an%x00%s", "--end-of-options", tip, `^${base}`],
    ],
    { limitMs, mostBytes: 16 * 1024 * 1024 },
  );
  const fields = log.output.toString().split("\0");
  const commits: { id: string; author: string; subject: string }[] = [];
  for (let at = 0; at + 3 < fields.length; at += 3)
    commits.push({
      id: fields[at] ?? "",
      author: cleanText(fields[at + 1] ?? "", 100),
      subject: cleanText(fields[at + 2] ?? ""),
    });

  const counted = await room.git(
    [
      // Comparing the lines of huge files takes minutes and tells nothing.
      ...["-c", "core.bigFileThreshold=8m", "diff-tree", "-r", "--numstat", "-z", "--no-renames"],
      ...["--no-ext-diff", "--no-textconv", "--end-of-options", base, tip],
    ],
    { limitMs, mostBytes: 64 * 1024 * 1024 },
  );
  const files = counted.output.toString().split("\0").slice(0, -1).flatMap(countedFile);
  return {
    commits: commits.slice(0, mostShown).reverse(),
    files: files.slice(0, mostShown),
    totals: {
      files: files.length,
      added: files.reduce((sum, { added }) => sum + (added ?? 0), 0),
      deleted: files.reduce((sum, { deleted }) => sum + (deleted ?? 0), 0),
    },
    isCut: log.isCut || counted.isCut || commits.length > mostShown || files.length > mostShown,
  };
}

/** See `WorkRepository`. */
export async function readPatch(
  room: CleanRoom,
  base: string,
  tip: string,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const { output, isCut } = await room.git(
    [
      ...["-c", "core.bigFileThreshold=1m", "-c", "core.quotePath=false", "diff-tree", "-r", "--patch"],
      ...["--unified=0", "--find-renames", "-l400", "--no-ext-diff", "--no-textconv", "--no-color"],
      ...["--end-of-options", base, tip],
    ],
    { limitMs, mostBytes: 16 * 1024 * 1024 },
  );
  return { text: output.toString(), isCut };
}

/** `3<tab>1<tab>path`, and `-` twice for what is not text. */
function countedFile(row: string): WorkChanges["files"][number][] {
  const [, added, deleted, path] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(row) ?? [];
  if (added === undefined || deleted === undefined || path === undefined) return [];
  const lines = (text: string): number | null => (text === "-" ? null : Number(text));
  return [{ path: cleanText(path), added: lines(added), deleted: lines(deleted) }];
}
