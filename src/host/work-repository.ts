import { isCommitId } from "../domain/commit-id.ts";
import type { WorkRepository } from "../ports/work-repository.ts";
import { areCommits, type CleanRoom, isAncestor } from "./clean-room.ts";
import { conflictsOf, mergeBases, mergeTwo, mergeWithMarkers } from "./merge-bases.ts";
import { refsIn } from "./move-ref.ts";
import { lookAtBranch, publishBranch } from "./publish-branch.ts";
import { openQuarantine } from "./quarantine.ts";
import { readChanges, readPatch, readSensitivePaths } from "./read-changes.ts";
import { type ImportDeps, importBundle, refAt } from "./take-in.ts";

/**
 * The repository with this common git folder, for all its worktrees. Methods read commits in a separate clean
 * repository, where neither the user's repository settings nor its files apply. Only refs are moved in the
 * user's repository itself.
 */
export function workRepository(deps: ImportDeps): WorkRepository {
  const { commonFolder } = deps;
  const inRoom = async <T>(
    commits: readonly string[],
    look: (room: CleanRoom) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    for (const id of commits)
      if (!isCommitId(id)) throw new Error(`${JSON.stringify(id)} is no name of a commit`);
    await using quarantine = await openQuarantine(commonFolder, signal);
    return await look(await quarantine.room("theirs"));
  };

  const has: WorkRepository["has"] = (commit) => inRoom([commit], (room) => areCommits(room, [commit]));

  return {
    importBundle: (work, signal) => importBundle(deps, work, signal),

    publish: (work, signal) =>
      inRoom([work.commit, work.base], (room) => publishBranch({ commonFolder, room }, work), signal),

    has,

    isReferenced: async (commit) => (await has(commit)) && refsIn(commonFolder).haveAny(commit),

    merge: (commits, signal) =>
      inRoom([commits.ours, commits.theirs], (room) => mergeTwo(room, commits), signal),

    mergeAnyway: (commits, signal) =>
      inRoom([commits.ours, commits.theirs], (room) => mergeWithMarkers(room, commits), signal),

    commitAt: (ref) => refAt(commonFolder, refsIn(commonFolder), ref),

    async moveRef(move) {
      if (!move.ref.startsWith("refs/aimi/")) throw new Error(`${move.ref} is no ref below refs/aimi/`);
      return (await refsIn(commonFolder).move(move, "taken up again")).kind === "moved";
    },

    async conflicts(pairs, signal) {
      await using quarantine = await openQuarantine(commonFolder, signal);
      // These merges are only trials, so their objects must not get into the user's repository.
      const room = await quarantine.room("own");
      const found: (readonly string[])[] = [];
      for (const [one, other] of pairs) found.push(await conflictsOf(room, one, other));
      return found;
    },

    isAncestor: (ancestor, commit, signal) =>
      inRoom([ancestor, commit], (room) => isAncestor(room, ancestor, commit), signal),

    branch: (name) => inRoom([], (room) => lookAtBranch({ commonFolder, room }, name)),

    mergeBases: (commits, signal) => inRoom(commits, (room) => mergeBases(room, commits), signal),

    sensitivePaths: (base, tip, signal) =>
      inRoom([base, tip], (room) => readSensitivePaths(room, base, tip), signal),

    changes: (base, tip, signal) => inRoom([base, tip], (room) => readChanges(room, base, tip), signal),

    readPatch: (patch, signal) => inRoom([patch.base, patch.tip], (room) => readPatch(room, patch), signal),
  };
}
