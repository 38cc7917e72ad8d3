import { sanitizeLines, sanitizeText } from "../text/sanitize-text.ts";
import { type IsolatedRepository, isAncestor } from "./isolated-repository.ts";
import { isCommitId } from "./rules/commit-id.ts";
import { createGitError } from "./start-git.ts";
import type { CommitsToMerge, MergeResult } from "./work-repository-port.ts";

/**
 * The author and committer of swarm's merge commits. The name and email are constant, so that the same merge
 * always has the same commit ID.
 */
const merger = { name: "swarm", email: "swarm@localhost" };

/**
 * Merges several commits into one commit that contains them all, or returns the files in conflict. Uses no
 * working tree, index or merge drivers, so that the content of a file cannot make git run a program.
 */
export async function mergeIntoOneCommit(
  repo: IsolatedRepository,
  commits: readonly string[],
): Promise<MergeResult> {
  let merged: string | null = null;
  for (const commit of new Set(commits)) {
    if (merged === null || (await isAncestor(repo, merged, commit))) {
      merged = commit;
      continue;
    }
    if (await isAncestor(repo, commit, merged)) continue;
    const message = `Merge ${commit.slice(0, 10)} into ${merged.slice(0, 10)}\n\nThe base of work that depends on both.\n`;
    const outcome = await mergeTwoCommits(repo, { ours: merged, theirs: commit, message });
    if (outcome.kind === "conflict") return outcome;
    merged = outcome.commit;
  }
  if (merged === null) throw new Error("There is no commit to merge");
  return { kind: "commit", commit: merged };
}

/** Returns the paths of the files in which two commits conflict according to git. */
export async function findConflictingFiles(
  repo: IsolatedRepository,
  ours: string,
  theirs: string,
): Promise<readonly string[]> {
  return (await mergeTrees(repo, { ours, theirs })).conflicts;
}

/**
 * Creates a merge commit with the given message. Its author is constant and its date comes from the two
 * merged commits, so that the same merge always has the same commit ID.
 */
export async function mergeTwoCommits(
  repo: IsolatedRepository,
  commits: CommitsToMerge,
): Promise<MergeResult> {
  const { tree, conflicts } = await mergeTrees(repo, commits);
  if (conflicts.length > 0) return { kind: "conflict", files: conflicts };
  return { kind: "commit", commit: await commitMerge(repo, commits, tree) };
}

/**
 * Merges two commits even if they conflict. The merge commit contains the conflicting files with git's
 * conflict markers.
 */
export async function mergeTwoWithConflictMarkers(
  repo: IsolatedRepository,
  commits: CommitsToMerge,
): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }> {
  const { tree, conflicts } = await mergeTrees(repo, commits);
  return { commit: await commitMerge(repo, commits, tree), conflicts };
}

async function commitMerge(
  repo: IsolatedRepository,
  { ours, theirs, message }: CommitsToMerge,
  tree: string,
): Promise<string> {
  const times = await repo.text(["show", "--no-patch", "--format=%ct", "--end-of-options", ours, theirs]);
  const date = `${Math.max(...times.trim().split("\n").map(Number))} +0000`;
  const commit = await repo.text(
    ["commit-tree", "--no-gpg-sign", "-p", ours, "-p", theirs, "-m", sanitizeLines(message), tree],
    {
      env: {
        GIT_AUTHOR_NAME: merger.name,
        GIT_AUTHOR_EMAIL: merger.email,
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_NAME: merger.name,
        GIT_COMMITTER_EMAIL: merger.email,
        GIT_COMMITTER_DATE: date,
      },
    },
  );
  return commit.trim();
}

/**
 * The maximum number of conflicting files to list, and the maximum size in bytes of the list that git prints.
 * A longer list would not help the user.
 */
const [maxNames, maxNamesBytes] = [1_000, 1024 * 1024];

async function mergeTrees(
  repo: IsolatedRepository,
  { ours, theirs }: Pick<CommitsToMerge, "ours" | "theirs">,
): Promise<{ readonly tree: string; readonly conflicts: readonly string[] }> {
  const { exitCode, output, isCut } = await repo.git(
    ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--end-of-options", ours, theirs],
    { expectedExitCodes: [0, 1], maxBytes: maxNamesBytes },
  );
  // git lists files only if there is a conflict, so output that reached the limit means a conflict.
  const isConflict = exitCode === 1 || isCut;
  const [tree = "", ...files] = output.toString().split("\0").filter(Boolean);
  if (!isCommitId(tree)) throw createGitError(["merge-tree"], "git printed no tree id");
  // The exit code says whether there is a conflict. The file names may be unprintable, so clean them.
  const conflicts = isConflict ? files.slice(0, maxNames).map((path) => sanitizeText(path)) : [];
  return { tree, conflicts: isConflict && conflicts.length === 0 ? ["?"] : conflicts };
}
