import { sanitizeText } from "../text/sanitize-text.ts";
import { baseNameOf } from "../text/tree-path.ts";
import { splitStream } from "../wire/split-stream.ts";
import { type ChangedEntry, readChangedEntries } from "./changed-entries.ts";
import type { IsolatedRepository } from "./isolated-repository.ts";
import { readSmallBlobs } from "./object-reader.ts";
import { findSensitiveReason, hasChangedScripts, type SensitivePath } from "./rules/paths-to-review.ts";
import type { PatchToRead, SensitiveChanges, WorkChanges } from "./work-repository-port.ts";

/**
 * The maximum size in bytes of a package.json to compare, and of a symbolic link's target. No genuine
 * package.json is larger, and no path is longer.
 */
const [maxManifestBytes, maxLinkBytes] = [256 * 1024, 4096];
/**
 * The maximum total size in bytes of all package.json files to compare, and the maximum number of symbolic
 * links to read. Both bound the time for which the comparison blocks this process.
 */
const [maxBytesOfManifests, maxLinks] = [2 * 1024 * 1024, 20_000];
/** The number of changed files to check as one batch. Only one batch is in memory at a time. */
const batchSize = 200;
const maxShown = 1_000;
/**
 * The byte that ends a field in git's output, and the maximum length of a field in bytes. Every path is
 * shorter; of a longer commit subject, the reader needs only the start.
 */
const fields = { end: 0, maxLength: 8 * 1024 };
/**
 * The byte that ends a line of a patch, and the maximum length of a line in bytes. The length suffices for
 * the two paths of a renamed file.
 */
const lines = { end: 10, maxLength: 16 * 1024 };
const maxPatchBytes = 16 * 1024 * 1024;
const limitMs = 120_000;

/**
 * Implements `sensitivePaths` of `WorkRepository`: finds changed paths that the user should review, and
 * deleted files.
 */
export async function readSensitivePaths(
  repo: IsolatedRepository,
  base: string,
  tip: string,
): Promise<SensitiveChanges> {
  const paths: SensitivePath[] = [];
  const deleted: string[] = [];
  let total = 0;
  let isCut = false;
  let waiting: ChangedEntry[] = [];
  let links = 0;
  const runsOtherScripts = scriptComparer(repo);
  const judge = async (): Promise<void> => {
    const entries = waiting;
    waiting = [];
    const linkIds = entries.filter(isLink).map(({ id }) => id);
    const read = linkIds.slice(0, maxLinks - links);
    links += read.length;
    const targets = await readSmallBlobs(repo.objects, read, maxLinkBytes);
    for (const entry of entries) {
      const { path, mode } = entry;
      const isManifest = mode.startsWith("100") && baseNameOf(path).toLowerCase() === "package.json";
      const why = findSensitiveReason({
        path,
        // A link whose target is too long to read works nowhere, so judge it like a link that leads outside.
        linkTo: isLink(entry) ? (targets.get(entry.id) ?? "/") : null,
        hasChangedScripts: isManifest && (await runsOtherScripts(entry)),
      });
      if (why === null) continue;
      if (paths.length < maxShown) paths.push({ path: sanitizeText(path), why });
      else isCut = true;
    }
  };
  const unread = await readChangedEntries(repo.objects, {
    base,
    tip,
    async onEntry(entry) {
      if (entry.mode === "000000") {
        total += 1;
        if (deleted.length < maxShown) deleted.push(sanitizeText(entry.path));
      }
      waiting.push(entry);
      if (waiting.length >= batchSize) await judge();
    },
  });
  await judge();
  return { paths, isCut: isCut || unread !== null, deleted: { total, paths: deleted } };
}

function isLink({ mode }: ChangedEntry): boolean {
  return mode === "120000";
}

/**
 * Creates a function that returns whether a changed package.json has other scripts than before. If the file
 * is too large to read, the function returns true.
 */
function scriptComparer(repo: IsolatedRepository): (entry: ChangedEntry) => Promise<boolean> {
  let left = maxBytesOfManifests;
  return async ({ id, oldId }) => {
    const contents = await readSmallBlobs(repo.objects, [id, oldId], Math.min(maxManifestBytes, left));
    const [after, before] = [contents.get(id) ?? null, contents.get(oldId) ?? null];
    left -= (after?.length ?? 0) + (before?.length ?? 0);
    return after === null || hasChangedScripts(before, after);
  };
}

/** Implements `changes` of `WorkRepository`: lists the commits and the changed files between two commits. */
export async function readChanges(repo: IsolatedRepository, base: string, tip: string): Promise<WorkChanges> {
  let isLate = false;
  const run = {
    limitMs,
    onLate: () => {
      isLate = true;
    },
  };
  const log = repo.stream(
    [
      ...["log", "-z", "--topo-order", `--max-count=${maxShown + 1}`, "--no-show-signature", "--no-mailmap"],
      ...["--no-notes", "--format=%H%x00%an%x00%s", "--end-of-options", tip, `^${base}`],
    ],
    run,
  );
  const commits: { id: string; author: string; subject: string }[] = [];
  let commit: string[] = [];
  for await (const field of splitStream(log, fields)) {
    commit.push(field);
    const [id = "", author = "", subject] = commit;
    if (subject === undefined) continue;
    commits.push({ id, author: sanitizeText(author, 100), subject: sanitizeText(subject) });
    commit = [];
  }

  const files: WorkChanges["files"][number][] = [];
  const totals = { files: 0, added: 0, deleted: 0 };
  const counted = repo.stream(
    [
      // To compare the lines of huge files takes minutes and is of no use.
      ...["-c", "core.bigFileThreshold=8m", "diff-tree", "-r", "--numstat", "-z", "--no-renames"],
      ...["--no-ext-diff", "--no-textconv", "--end-of-options", base, tip],
    ],
    run,
  );
  for await (const row of splitStream(counted, fields)) {
    const file = countedFile(row);
    if (file === null) continue;
    totals.files += 1;
    totals.added += file.added ?? 0;
    totals.deleted += file.deleted ?? 0;
    if (files.length < maxShown) files.push({ ...file, path: sanitizeText(file.path) });
  }
  return {
    commits: commits.slice(0, maxShown).reverse(),
    files,
    totals,
    isCut: isLate || commits.length > maxShown || totals.files > maxShown,
  };
}

/**
 * Implements `readPatch` of `WorkRepository`: passes the patch between two commits line by line to `onLine`.
 */
export async function readPatch(
  repo: IsolatedRepository,
  { base, tip, onLine }: PatchToRead,
): Promise<{ readonly isCut: boolean }> {
  let isCut = false;
  let bytes = 0;
  const patch = repo.stream(
    [
      ...["-c", "core.bigFileThreshold=1m", "-c", "core.quotePath=false", "diff-tree", "-r", "--patch"],
      ...["--unified=0", "--find-renames", "-l400", "--no-ext-diff", "--no-textconv", "--no-color"],
      ...["--end-of-options", base, tip],
    ],
    {
      limitMs,
      onLate: () => {
        isCut = true;
      },
    },
  );
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of patch) {
      bytes += chunk.length;
      isCut ||= bytes > maxPatchBytes;
      if (isCut) return;
      yield chunk;
    }
  };
  for await (const line of splitStream(counted(), lines)) onLine(line);
  return { isCut };
}

/**
 * Parses a row of the output of `git diff-tree --numstat`: `3<tab>1<tab>path`. For a binary file, `-`
 * replaces both numbers.
 */
function countedFile(row: string): WorkChanges["files"][number] | null {
  const [, added, deleted, path] = /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(row) ?? [];
  if (added === undefined || deleted === undefined || path === undefined) return null;
  const lines = (text: string): number | null => (text === "-" ? null : Number(text));
  return { path, added: lines(added), deleted: lines(deleted) };
}
