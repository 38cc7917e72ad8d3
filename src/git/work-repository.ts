import { type ImportDeps, importBundle } from "./import-bundle.ts";
import { areCommits, type IsolatedRepository, isAncestor } from "./isolated-repository.ts";
import {
  findConflictingFiles,
  mergeIntoOneCommit,
  mergeTwoCommits,
  mergeTwoWithConflictMarkers,
} from "./merge-into-one-commit.ts";
import { inspectBranch, publishBranch } from "./publish-branch.ts";
import { openQuarantine } from "./quarantine.ts";
import { readChanges, readPatch, readSensitivePaths } from "./read-changes.ts";
import { openRefStore } from "./ref-store.ts";
import { isCommitId } from "./rules/commit-id.ts";
import type { WorkRepository } from "./work-repository-port.ts";

/**
 * Gives access to the user's repository with this common git folder, for all its worktrees. Reads commits
 * through an isolated repository, which ignores the settings and files of the user's repository.
 */
export function workRepository(deps: ImportDeps): WorkRepository {
  const { commonFolder } = deps;
  const inIsolatedRepo = async <T>(
    commits: readonly string[],
    look: (repo: IsolatedRepository) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    for (const id of commits)
      if (!isCommitId(id)) throw new Error(`${JSON.stringify(id)} is not a commit id`);
    await using quarantine = await openQuarantine(commonFolder, signal);
    return await look(await quarantine.openRepo("theirs"));
  };

  const hasCommit: WorkRepository["hasCommit"] = (commit) =>
    inIsolatedRepo([commit], (repo) => areCommits(repo, [commit]));

  return {
    importBundle: (work, signal) => importBundle(deps, work, signal),

    publish: (work, signal) =>
      inIsolatedRepo([work.commit, work.base], (repo) => publishBranch({ commonFolder, repo }, work), signal),

    hasCommit,

    isReferenced: async (commit) =>
      (await hasCommit(commit)) && openRefStore(commonFolder).containCommit(commit),

    merge: (commits, signal) =>
      inIsolatedRepo([commits.ours, commits.theirs], (repo) => mergeTwoCommits(repo, commits), signal),

    mergeWithConflictMarkers: (commits, signal) =>
      inIsolatedRepo(
        [commits.ours, commits.theirs],
        (repo) => mergeTwoWithConflictMarkers(repo, commits),
        signal,
      ),

    commitAt: (ref) => openRefStore(commonFolder).commitAt(ref),

    async moveRef(move) {
      if (!move.ref.startsWith("refs/aimi/")) throw new Error(`${move.ref} is not a ref below refs/aimi/`);
      return (await openRefStore(commonFolder).move(move, "reset for rework")).kind === "moved";
    },

    async conflicts(pairs, signal) {
      await using quarantine = await openQuarantine(commonFolder, signal);
      // These merges are only trials, so their objects must not get into the user's repository.
      const repo = await quarantine.openRepo("own");
      const found: (readonly string[])[] = [];
      for (const [one, other] of pairs) found.push(await findConflictingFiles(repo, one, other));
      return found;
    },

    isAncestor: (ancestor, commit, signal) =>
      inIsolatedRepo([ancestor, commit], (repo) => isAncestor(repo, ancestor, commit), signal),

    branch: (name) => inIsolatedRepo([], (repo) => inspectBranch({ commonFolder, repo }, name)),

    mergeBases: (commits, signal) =>
      inIsolatedRepo(commits, (repo) => mergeIntoOneCommit(repo, commits), signal),

    sensitivePaths: (base, tip, signal) =>
      inIsolatedRepo([base, tip], (repo) => readSensitivePaths(repo, base, tip), signal),

    changes: (base, tip, signal) =>
      inIsolatedRepo([base, tip], (repo) => readChanges(repo, base, tip), signal),

    readPatch: (patch, signal) =>
      inIsolatedRepo([patch.base, patch.tip], (repo) => readPatch(repo, patch), signal),
  };
}
