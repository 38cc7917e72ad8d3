import { cleanLines, cleanText } from "../domain/clean-text.ts";
import { SwarmError } from "../domain/errors.ts";
import type { CommitsToMerge, MergedBase } from "../ports/work-repository.ts";
import { type CleanRoom, isAncestor } from "./clean-room.ts";

/** Merges are ours and nobody's work; by whom and when must not depend on who makes them again. */
const merger = { name: "swarm", email: "swarm@localhost" };

/**
 * One commit that has all of them. Merged among objects: no working tree, no index, and no merge driver of anybody's, since
 * the content of files must not choose what runs.
 */
export async function mergeBases(room: CleanRoom, commits: readonly string[]): Promise<MergedBase> {
  let merged: string | null = null;
  for (const commit of new Set(commits)) {
    if (merged === null || (await isAncestor(room, merged, commit))) {
      merged = commit;
      continue;
    }
    if (await isAncestor(room, commit, merged)) continue;
    const message = `Merge ${commit.slice(0, 10)} into ${merged.slice(0, 10)}\n\nThe base of work that depends on both.\n`;
    const outcome = await mergeTwo(room, { ours: merged, theirs: commit, message });
    if (outcome.kind === "conflict") return outcome;
    merged = outcome.commit;
  }
  if (merged === null) throw new Error("There is nothing to merge");
  return { kind: "commit", commit: merged };
}

/** The files in which two commits conflict, as git says it. */
export async function conflictsOf(room: CleanRoom, ours: string, theirs: string): Promise<readonly string[]> {
  return (await mergeTrees(room, ours, theirs)).conflicts;
}

/** A merge of two commits with a message; by whom and when is the same whenever it is made. */
export async function mergeTwo(
  room: CleanRoom,
  { ours, theirs, message }: CommitsToMerge,
): Promise<MergedBase> {
  const { tree, conflicts } = await mergeTrees(room, ours, theirs);
  if (conflicts.length > 0) return { kind: "conflict", files: conflicts };
  return { kind: "commit", commit: await commitMerge(room, { ours, theirs, message }, tree) };
}

/** The same, with git's markers in the files in which they conflict. */
export async function mergeWithMarkers(
  room: CleanRoom,
  commits: CommitsToMerge,
): Promise<{ readonly commit: string; readonly conflicts: readonly string[] }> {
  const { tree, conflicts } = await mergeTrees(room, commits.ours, commits.theirs);
  return { commit: await commitMerge(room, commits, tree), conflicts };
}

async function commitMerge(
  room: CleanRoom,
  { ours, theirs, message }: CommitsToMerge,
  tree: string,
): Promise<string> {
  const times = await room.text(["show", "--no-patch", "--format=%ct", "--end-of-options", ours, theirs]);
  const date = `${Math.max(...times.trim().split("\n").map(Number))} +0000`;
  const commit = await room.text(
    ["commit-tree", "--no-gpg-sign", "-p", ours, "-p", theirs, "-m", cleanLines(message), tree],
    {
      env: {
        ...{ GIT_AUTHOR_NAME: merger.name, GIT_AUTHOR_EMAIL: merger.email, GIT_AUTHOR_DATE: date },
        ...{ GIT_COMMITTER_NAME: merger.name, GIT_COMMITTER_EMAIL: merger.email, GIT_COMMITTER_DATE: date },
      },
    },
  );
  return commit.trim();
}

/** More files that conflict are looked at by nobody. */
const [mostNames, mostNamesBytes] = [1_000, 1024 * 1024];

interface MergedTree {
  readonly tree: string;
  readonly conflicts: readonly string[];
}

async function mergeTrees(room: CleanRoom, ours: string, theirs: string): Promise<MergedTree> {
  const { exitCode, output, isCut } = await room.git(
    ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--end-of-options", ours, theirs],
    { answers: [0, 1], mostBytes: mostNamesBytes },
  );
  // What is cut has names of files, and only what conflicts has any.
  const isConflict = exitCode === 1 || isCut;
  const [tree = "", ...files] = output.toString().split("\0").filter(Boolean);
  if (!/^[0-9a-f]{40}$/.test(tree))
    throw new SwarmError("GIT_FAILED", { command: "merge-tree", reason: "it named no tree" });
  // What conflicts is told by the answer; which files, by names that may be odd.
  const conflicts = isConflict ? files.slice(0, mostNames).map((path) => cleanText(path)) : [];
  return { tree, conflicts: isConflict && conflicts.length === 0 ? ["?"] : conflicts };
}
