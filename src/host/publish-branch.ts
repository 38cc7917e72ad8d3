import { isBranchName } from "../domain/branch-name.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { BranchObstacle, Published, WorkToPublish } from "../ports/work-repository.ts";
import { branchesInUse } from "./branches-in-use.ts";
import { type CleanRoom, isAncestor, typesOf } from "./clean-room.ts";
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
  const held = await holderOf({ refs, room }, [branch, fallback], commit);
  const obstacles: BranchObstacle[] = [];
  const found = (name: string): Published => ({
    ...{ kind: "published", ref: heads + name, old: commit, how: "found", aside: obstacles[0] ?? null },
  });

  for (const name of [branch, fallback]) {
    if (name === held) return found(name);
    const place = await judge({ refs, room, used }, name, commit);
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

/** The branch that has the work already, or more upon it. */
async function holderOf(
  { refs, room }: { readonly refs: Refs; readonly room: CleanRoom },
  names: readonly string[],
  commit: string,
): Promise<string | null> {
  for (const name of names.filter(isBranchName)) {
    const at = (await refs.at(heads + name)).find((ref) => ref.name === heads + name);
    if (at && at.standsFor === null && (await hasCommit(room, at.commit, commit))) return name;
  }
  return null;
}

/** Where a branch is that may be moved to the commit, or what stands in the way. */
async function judge(
  { refs, room, used }: { refs: Refs; room: CleanRoom; used: ReadonlyMap<string, string> },
  name: string,
  commit: string,
): Promise<{ readonly at: string | null } | BranchObstacle> {
  const branch = cleanText(name);
  if (!isBranchName(name)) return { branch, why: "invalid-name", reason: "git does not take it as a name" };
  const worktree = used.get(name);
  if (worktree !== undefined)
    return { branch, why: "in-use", reason: `it is checked out in ${cleanText(worktree)}` };
  const around = await refsAround(refs, name);
  const own = around.find((ref) => ref.name === heads + name);
  const other = around.find((ref) => ref !== own);
  if (other)
    return {
      ...{ branch, why: "name-conflict" },
      reason: `${cleanText(other.name.slice(heads.length))} is a branch, and git cannot have both`,
    };
  if (!own) return { at: null };
  if (own.standsFor !== null)
    return { branch, why: "alias", reason: `it stands for ${cleanText(own.standsFor)}` };
  if (await hasCommit(room, commit, own.commit)) return { at: own.commit };
  return { branch, why: "elsewhere", reason: `it has commits that the work has not: ${own.commit}` };
}

/** Itself, what lies below it, and what lies above: of those only one can be. */
async function refsAround(refs: Refs, name: string): Promise<FoundRef[]> {
  const parts = name.split("/");
  const above = parts.slice(0, -1).map((_, at) => heads + parts.slice(0, at + 1).join("/"));
  const found = await Promise.all(
    above.map(async (ref) => (await refs.at(ref)).filter((one) => one.name === ref)),
  );
  return [...found.flat(), ...(await refs.at(heads + name))];
}

/** Whether a history has a commit; not when it begins with something that is gone. */
async function hasCommit(room: CleanRoom, tip: string, commit: string): Promise<boolean> {
  const types = await typesOf(room, [tip, commit]);
  return types.every((type) => type === "commit") && (await isAncestor(room, commit, tip));
}
