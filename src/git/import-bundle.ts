import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { sanitizeText } from "../text/sanitize-text.ts";
import { type BundleHeader, readBundleHeader } from "./bundle-header.ts";
import { readChangedEntries } from "./changed-entries.ts";
import { installPack } from "./install-pack.ts";
import { areCommits, type IsolatedRepository, isAncestor } from "./isolated-repository.ts";
import { areNearbyAncestors } from "./nearby-ancestor.ts";
import { openQuarantine, storeStream } from "./quarantine.ts";
import { openRefStore } from "./ref-store.ts";
import { isBranchName } from "./rules/branch-name.ts";
import { isCommitId } from "./rules/commit-id.ts";
import type { GitResult } from "./run-git.ts";
import { createGitError, hasGitCrashed } from "./start-git.ts";
import type { BundleRefusal, BundleToImport, ImportResult } from "./work-repository-port.ts";

/** The points of a bundle's import at which a test kills the process, to prove that a crash does no harm. */
export type ImportCrashPoint = "stored" | "checked" | "objects-moved" | "ref-moved";

export interface ImportDeps {
  /** The git folder that all worktrees of the repository share. */
  readonly commonFolder: string;
  /** Called at each crash point of the import, where a test may kill the process. */
  readonly onPoint?: (point: ImportCrashPoint) => void;
}

type Rejection = Extract<ImportResult, { kind: "refused" | "rewritten" }>;

/**
 * Implements `importBundle` of `WorkRepository`: imports a worker's commits from an untrusted bundle. Each
 * step relies only on facts that earlier steps have verified.
 */
export async function importBundle(
  { commonFolder, onPoint = () => {} }: ImportDeps,
  work: BundleToImport,
  signal?: AbortSignal,
): Promise<ImportResult> {
  const { keepRef: ref, tip, base, old } = work;
  for (const id of [base, ...(old === null ? [] : [old])])
    if (!isCommitId(id)) throw new Error(`${JSON.stringify(id)} is not a commit id`);
  if (!isBranchName(ref) || !ref.startsWith("refs/aimi/"))
    throw new Error(`${ref} is not a ref below refs/aimi/`);
  if (!isCommitId(tip)) return refused("tip", "the id of the bundle's commit is malformed");

  const refs = openRefStore(commonFolder);
  const found = await refs.commitAt(ref);
  if (found === tip) return { kind: "already", commit: tip };
  // If the user has deleted the ref, import the work: to create the ref again loses nothing.
  if (found !== null && found !== old) return refused("ref-moved", `${ref} was moved to ${found}`);

  await using quarantine = await openQuarantine(commonFolder, signal);
  const file = join(quarantine.folder, "bundle");
  const stored = await storeStream(file, work.bundle, work);
  if (stored === "too-large") return refused("too-large", `the bundle is larger than ${work.maxBytes} bytes`);
  if (stored === "checksum") return refused("checksum", "the bundle's bytes do not match the checksum");
  signal?.throwIfAborted();
  onPoint("stored");

  const repo = await quarantine.openRepo("own");
  const header = await readBundleHeader(file);
  if ("problem" in header) return refused("header", header.problem);
  const wrong = await checkHeader(repo, header, work);
  if (wrong) return wrong;
  const pack = await indexPack(repo, { file, packAt: header.packOffset });
  if (typeof pack !== "string") return pack;
  const no =
    (await checkTree(repo, work)) ?? (await checkHistory(repo, work)) ?? (await checkStart(repo, work));
  if (no) return no;
  onPoint("checked");

  await using _kept = await installPack(pack, {
    from: join(repo.folder, "objects", "pack"),
    to: join(commonFolder, "objects", "pack"),
  });
  onPoint("objects-moved");
  const moved = await refs.move({ ref, old: found, new: tip }, "work imported");
  onPoint("ref-moved");
  if (moved.kind === "failed") throw createGitError(["update-ref"], moved.reason);
  if (moved.kind === "elsewhere")
    return refused(
      "ref-moved",
      moved.found === null
        ? `${ref} was deleted during the import`
        : `${ref} was moved to ${moved.found} during the import`,
    );
  return { kind: "taken", commit: tip };
}

/**
 * Checks a bundle's header before git reads the pack. The bundle must have exactly one ref, which points at
 * the commit `tip`. Each prerequisite commit must be in the history of the commit `base`.
 */
async function checkHeader(
  repo: IsolatedRepository,
  { refs, prerequisites }: BundleHeader,
  { expectedRef, tip, base }: BundleToImport,
): Promise<Rejection | null> {
  const [ref, ...more] = refs;
  if (!ref || more.length > 0)
    return refused("header", `the bundle contains ${refs.length} refs instead of one`);
  if (ref.name !== expectedRef)
    return refused("header", `the bundle contains the unexpected ref ${sanitizeText(ref.name, 100)}`);
  if (ref.id !== tip) return refused("header", `the bundle's ref is at ${ref.id} instead of ${tip}`);
  if (prerequisites.every((id) => id === base)) return null;
  const facts = await repo.objects.readFacts(prerequisites);
  const missing = prerequisites.find((_, at) => facts[at]?.type !== "commit");
  if (missing !== undefined)
    return refused("header", `the bundle builds on ${missing}, which is not a commit of this repository`);
  const outside = await findOutside(repo, prerequisites, base);
  return outside === null
    ? null
    : refused("header", `the bundle builds on ${outside}, which is not in the history of the base commit`);
}

/**
 * Returns a commit that is in the history of one of `commits` but not in the history of `tip`; null if there
 * is none.
 */
async function findOutside(
  repo: IsolatedRepository,
  commits: readonly string[],
  tip: string,
): Promise<string | null> {
  if (await areNearbyAncestors(repo.objects, commits, tip)) return null;
  const input = Buffer.from(`${commits.join("\n")}\n^${tip}\n`);
  return (await repo.text(["rev-list", "--max-count=1", "--stdin"], { input })).trim() || null;
}

/**
 * Checks and indexes the bundle's pack with `git index-pack`. Returns the pack's hash, or a rejection if the
 * pack is faulty. Throws if git failed for a reason other than the pack.
 */
async function indexPack(
  repo: IsolatedRepository,
  { file, packAt }: { readonly file: string; readonly packAt: number },
): Promise<string | Rejection> {
  await using pack = await open(file);
  await skipBytes(pack, packAt);
  const ended = await repo.run(
    // Without `badFilemode=error`, --strict accepts file modes that git itself does not write.
    ["index-pack", "--stdin", "--fix-thin", "--strict=badFilemode=error", "--fsck-objects"],
    { input: pack, limitMs: 30 * 60_000 },
  );
  const [, hash] = /^(?:pack|keep)\t([0-9a-f]{40})$/m.exec(ended.output.toString()) ?? [];
  if (ended.exitCode === 0 && hash !== undefined) return hash;
  if (hasNoVerdict(ended)) throw createGitError(["index-pack"], ended.reason);
  return refused("pack", `git refuses the bundle's objects: ${ended.reason}`);
}

/**
 * Returns whether git failed for a reason other than the worker's commits: a kill, a full disk or missing
 * permissions.
 */
function hasNoVerdict(ended: GitResult): boolean {
  const wasStopped = ended.exitCode === undefined && !ended.isTimedOut && !hasGitCrashed(ended);
  return wasStopped || /No space left|Permission denied/.test(ended.reason);
}

/** Reads and drops `bytes` bytes of an open file, so that git starts reading after them. */
async function skipBytes(file: FileHandle, bytes: number): Promise<void> {
  const passed = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await file.read(passed, at, bytes - at, null);
    if (bytesRead === 0) return;
    at += bytesRead;
  }
}

/**
 * Checks that the changes between `base` and `tip` are within the limits, because later git commands have no
 * limits. Rejects a `.gitattributes` or `.gitmodules` that is a symbolic link: `git fsck` only warns about
 * such a link.
 */
async function checkTree(repo: IsolatedRepository, { tip, base }: BundleToImport): Promise<Rejection | null> {
  if (!(await areCommits(repo, [tip])))
    return refused("incomplete", `${tip} is not in the bundle, or is not a commit`);
  let link = "";
  const unread = await readChangedEntries(repo.objects, {
    base,
    tip,
    onEntry({ mode, path }) {
      if (mode === "120000" && /(?:^|\/)\.(?:gitattributes|gitmodules)$/i.test(path)) link ||= path;
    },
  });
  if (unread) return refused(unread.why, unread.reason);
  return link === "" ? null : refused("pack", `${sanitizeText(link, 100)} is a symbolic link`);
}

const deepHistory =
  "git crashed while it read the bundle's history, probably because folders are nested too deep";

/**
 * Checks that no git object is missing, and that `tip` descends from `base` and from the previously imported
 * commit `old`.
 */
async function checkHistory(
  repo: IsolatedRepository,
  { tip, base, old }: BundleToImport,
): Promise<Rejection | null> {
  const connected = await repo.run(["rev-list", "--objects", "--quiet", tip, "--not", base]);
  if (connected.exitCode !== 0) {
    if (hasNoVerdict(connected)) throw createGitError(["rev-list"], connected.reason);
    if (hasGitCrashed(connected) || /tree depth/.test(connected.reason))
      return refused("too-deep", deepHistory);
    return refused(
      "incomplete",
      `git cannot traverse the objects of the bundle's commit: ${connected.reason}`,
    );
  }
  const isOldHere = old === null || (await areCommits(repo, [old]));
  const before = old !== null && isOldHere ? [base, old] : [base];
  if (isOldHere && (await findOutside(repo, before, tip)) === null) return null;
  if (!(await isAncestor(repo, base, tip)))
    return refused("unrelated", `the bundle's commit does not descend from ${base}`);
  return { kind: "rewritten" };
}

/**
 * Checks that the worker started the story with exactly the files of the preceding commit. Otherwise, the
 * story's commit would undo changes of the preceding commit.
 */
async function checkStart(
  repo: IsolatedRepository,
  { tip, start }: BundleToImport,
): Promise<Rejection | null> {
  if (start === undefined) return null;
  const [tree] = (await areCommits(repo, [start.commit]))
    ? await repo.objects.readFacts([`${start.commit}^{tree}`])
    : [];
  if (tree && tree.id === start.tree && (await isAncestor(repo, start.commit, tip))) return null;
  return refused(
    "start",
    `the story started from the tree ${start.tree.slice(0, 10)} instead of the tree of the preceding commit ${start.commit.slice(0, 10)}`,
  );
}

function refused(why: BundleRefusal, reason: string): Rejection {
  return { kind: "refused", why, reason };
}
