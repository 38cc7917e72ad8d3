import { findBranchProblem, isBranchName } from "../domain/branch-name.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { BranchObstacle, Published, WorkToPublish } from "../ports/work-repository.ts";
import { branchesInUse } from "./branches-in-use.ts";
import { areCommits, type CleanRoom, isAncestor } from "./clean-room.ts";
import { type FoundRef, type Refs, refsIn } from "./move-ref.ts";

const heads = "refs/heads/";

interface PublishDeps {
  readonly commonFolder: string;
  readonly room: CleanRoom;
}

/** See `WorkRepository`. The wanted branch, else the other one by the same rules. */
export async function publishBranch(
  { commonFolder, room }: PublishDeps,
  { commit, base, branch, fallback, beforeMove = async () => {} }: WorkToPublish,
): Promise<Published> {
  if (!(await isAncestor(room, base, commit))) throw new Error(`${commit} does not go on from ${base}`);
  const refs = refsIn(commonFolder);
  const used = await branchesInUse(refs, commonFolder);
  const there = await refsAround(refs, [branch, fallback].filter(isBranchName));
  const held = await holderOf({ room, there }, [branch, fallback], commit);
  const obstacles: BranchObstacle[] = [];
  const found = (name: string): Published => ({
    ...{ kind: "published", ref: heads + name, old: commit, how: "found", aside: obstacles[0] ?? null },
  });

  for (const name of [branch, fallback]) {
    if (name === held) return found(name);
    const place = await judge({ room, there, used }, name, commit);
    if ("why" in place) {
      obstacles.push(place);
      continue;
    }
    // It went aside, the crash came before that was written down, and now the way is free: once is enough.
    if (held !== null) return found(held);
    const move = { ref: heads + name, old: place.at, new: commit };
    await beforeMove(move);
    const moved = await refs.move(move, place.at === null ? "work published" : "more work published");
    if (moved.kind === "moved") {
      const how = move.old === null ? "created" : "moved";
      return { kind: "published", ref: move.ref, old: move.old, how, aside: obstacles[0] ?? null };
    }
    obstacles.push(
      moved.kind === "failed"
        ? { branch: name, why: "failed", reason: moved.reason }
        : { branch: name, why: "elsewhere", reason: "somebody moved it at the same moment" },
    );
  }
  return { kind: "refused", obstacles };
}

/** Where a branch is, and what would keep it from being moved on. */
export async function lookAtBranch(
  { commonFolder, room }: PublishDeps,
  name: string,
): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }> {
  const refs = refsIn(commonFolder);
  const used = await branchesInUse(refs, commonFolder);
  const there = await refsAround(refs, [name].filter(isBranchName));
  const commit = there.find((ref) => ref.name === heads + name)?.commit ?? null;
  const place = await judge({ room, there, used }, name, commit);
  return { commit, obstacle: "why" in place ? place : null };
}

/** The branch that has the work already, or more upon it. */
async function holderOf(
  { room, there }: { readonly room: CleanRoom; readonly there: readonly FoundRef[] },
  names: readonly string[],
  commit: string,
): Promise<string | null> {
  for (const name of names) {
    const at = there.find((ref) => ref.name === heads + name);
    if (at && at.standsFor === null && (await hasCommit(room, at.commit, commit))) return name;
  }
  return null;
}

/** Where a branch is that may be moved to the commit, or what stands in the way. */
async function judge(
  {
    room,
    there,
    used,
  }: {
    readonly room: CleanRoom;
    readonly there: readonly FoundRef[];
    readonly used: ReadonlyMap<string, string>;
  },
  name: string,
  /** Null where nothing is to be moved yet. */
  commit: string | null,
): Promise<{ readonly at: string | null } | BranchObstacle> {
  const branch = cleanText(name);
  const problem = findBranchProblem(name, remotesIn(there));
  if (problem !== null) return { branch, why: "invalid-name", reason: `its name ${problem}` };
  const worktree = used.get(name);
  if (worktree !== undefined)
    return { branch, why: "in-use", reason: `it is checked out in ${cleanText(worktree)}` };
  const own = there.find((ref) => ref.name === heads + name);
  const other = there.find((ref) => isInTheWay(ref.name, heads + name));
  if (other)
    return {
      ...{ branch, why: "name-conflict" },
      reason: `${cleanText(other.name.slice(heads.length))} is a branch, and git cannot have both`,
    };
  if (!own) return { at: null };
  if (own.standsFor !== null)
    return { branch, why: "alias", reason: `it stands for ${cleanText(own.standsFor)}` };
  if (commit === null || (await hasCommit(room, commit, own.commit))) return { at: own.commit };
  return { branch, why: "elsewhere", reason: `it has commits that the work has not: ${own.commit}` };
}

const remotes = "refs/remotes/";

/** Of those whose branches were asked for: a branch of ours below the same name would hide them. */
function remotesIn(there: readonly FoundRef[]): string[] {
  const found = there.filter(({ name }) => name.startsWith(remotes));
  return [...new Set(found.map(({ name }) => name.slice(remotes.length).split("/")[0] ?? ""))];
}

/** The branches themselves, what lies below them, and what lies above; and those of a remote of the same name. */
async function refsAround(refs: Refs, names: readonly string[]): Promise<FoundRef[]> {
  const above = names.flatMap((name) => {
    const parts = name.split("/");
    return parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join("/"));
  });
  const firsts = names.map((name) => remotes + name.split("/")[0]);
  const asked = [...new Set([...[...names, ...above].map((name) => heads + name), ...firsts])];
  // Without a name git would list all refs.
  return asked.length === 0 ? [] : refs.at(asked);
}

/** A ref below or above another: of those only one can be. */
function isInTheWay(ref: string, wanted: string): boolean {
  return ref.startsWith(`${wanted}/`) || wanted.startsWith(`${ref}/`);
}

/** Whether a history has a commit; not when it begins with something that is gone. */
async function hasCommit(room: CleanRoom, tip: string, commit: string): Promise<boolean> {
  return (await areCommits(room, [tip, commit])) && (await isAncestor(room, commit, tip));
}
