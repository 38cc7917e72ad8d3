import { sanitizeText } from "../text/sanitize-text.ts";
import { foldersAbove } from "../text/tree-path.ts";
import { branchesInUse } from "./branches-in-use.ts";
import { areCommits, type IsolatedRepository, isAncestor } from "./isolated-repository.ts";
import { type FoundRef, openRefStore, type RefStore } from "./ref-store.ts";
import { findBranchProblem, isBranchName } from "./rules/branch-name.ts";
import type { BranchObstacle, PublishResult, WorkToPublish } from "./work-repository-port.ts";

const heads = "refs/heads/";

interface PublishDeps {
  readonly commonFolder: string;
  readonly repo: IsolatedRepository;
}

/** The refs and worktrees of the user's repository that decide whether swarm may move a branch. */
interface Surroundings {
  readonly repo: IsolatedRepository;
  readonly refs: RefStore;
  readonly there: readonly FoundRef[];
  /** The branches that swarm must not move, each with the folder of the worktree that uses it. */
  readonly used: ReadonlyMap<string, string>;
}

/**
 * Implements `publish` of `WorkRepository`: creates `branch` at the worker's last commit, or moves it there.
 * If an obstacle prevents this, uses `fallbackBranch` instead.
 */
export async function publishBranch(
  deps: PublishDeps,
  { commit, base, branch, fallbackBranch, beforeMove = async () => {} }: WorkToPublish,
): Promise<PublishResult> {
  if (!(await isAncestor(deps.repo, base, commit)))
    throw new Error(`${commit} is not a descendant of ${base}`);
  const names = [branch, fallbackBranch];
  const around = await lookAround(deps, names);
  const held = await holderOf(around, names, commit);
  const obstacles: BranchObstacle[] = [];
  const published = (
    name: string,
    old: string | null,
    how: "created" | "moved" | "found",
  ): PublishResult => ({
    kind: "published",
    ref: heads + name,
    old,
    how,
    aside: obstacles[0] ?? null,
  });

  for (const name of names) {
    if (name === held) return published(name, commit, "found");
    const verdict = await judge(around, name, commit);
    if ("why" in verdict) {
      obstacles.push(verdict);
      continue;
    }
    // The fallback branch already has the work: an earlier run published it there and crashed before
    // recording that. Do not publish the work twice, even if the wanted branch is free now.
    if (held !== null) return published(held, commit, "found");
    const move = { ref: heads + name, old: verdict.at, new: commit };
    await beforeMove(move);
    const isNew = move.old === null;
    const moved = await around.refs.move(move, isNew ? "work published" : "more work published");
    if (moved.kind === "moved") return published(name, move.old, isNew ? "created" : "moved");
    obstacles.push(
      moved.kind === "failed"
        ? { branch: name, why: "failed", reason: moved.reason }
        : {
            branch: name,
            why: "elsewhere",
            reason: "another process moved the branch while swarm was updating the branch",
          },
    );
  }
  return { kind: "refused", obstacles };
}

/**
 * Returns the commit of a branch, and the obstacle because of which swarm must not move the branch. Each is
 * null if there is none.
 */
export async function inspectBranch(
  deps: PublishDeps,
  name: string,
): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }> {
  const around = await lookAround(deps, [name]);
  const commit = findBranch(around, name)?.commit ?? null;
  const verdict = await judge(around, name, commit);
  return { commit, obstacle: "why" in verdict ? verdict : null };
}

async function lookAround(
  { commonFolder, repo }: PublishDeps,
  names: readonly string[],
): Promise<Surroundings> {
  const refs = openRefStore(commonFolder);
  const used = await branchesInUse(refs, commonFolder);
  return { repo, refs, used, there: await refsAround(refs, names.filter(isBranchName)) };
}

function findBranch({ there }: Surroundings, name: string): FoundRef | undefined {
  return there.find((ref) => ref.name === heads + name);
}

/**
 * Finds the first of the given branches that already contains the worker's last commit; returns null if there
 * is none.
 */
async function holderOf(
  around: Surroundings,
  names: readonly string[],
  commit: string,
): Promise<string | null> {
  for (const name of names) {
    const at = findBranch(around, name);
    if (at?.symbolicTarget === null && (await hasCommit(around.repo, at.commit, commit))) return name;
  }
  return null;
}

/**
 * Checks whether swarm may move a branch to `commit`. Returns the commit to which the branch points now, or
 * the obstacle.
 */
async function judge(
  around: Surroundings,
  name: string,
  /** The commit to which the branch would move; null if the caller asks only about the branch. */
  commit: string | null,
): Promise<{ readonly at: string | null } | BranchObstacle> {
  const branch = sanitizeText(name);
  const problem = findBranchProblem(name, remotesIn(around.there));
  if (problem !== null) return { branch, why: "invalid-name", reason: `the branch name ${problem}` };
  const worktree = around.used.get(name);
  if (worktree !== undefined)
    return { branch, why: "in-use", reason: `the branch is checked out in ${sanitizeText(worktree)}` };
  const own = findBranch(around, name);
  // A git repository cannot have two refs of which one has the name of a parent path of the other.
  const other = around.there.find(
    (ref) => ref.name.startsWith(`${heads}${name}/`) || `${heads}${name}`.startsWith(`${ref.name}/`),
  );
  if (other)
    return {
      branch,
      why: "name-conflict",
      reason: `the branch name conflicts with the existing branch ${sanitizeText(other.name.slice(heads.length))}: git cannot store a branch below another branch`,
    };
  if (!own) return { at: null };
  if (own.symbolicTarget !== null)
    return {
      branch,
      why: "alias",
      reason: `the branch is a symbolic ref to ${sanitizeText(own.symbolicTarget)}`,
    };
  if (commit === null || (await hasCommit(around.repo, commit, own.commit))) return { at: own.commit };
  return {
    branch,
    why: "elsewhere",
    reason: `the branch has commits that the published commit does not contain: ${own.commit}`,
  };
}

const remotes = "refs/remotes/";

/**
 * Returns the names of the remotes to which the given refs belong. A local branch `origin/x` would hide the
 * branch `x` of the remote `origin`.
 */
function remotesIn(there: readonly FoundRef[]): string[] {
  const found = there.filter(({ name }) => name.startsWith(remotes));
  return [...new Set(found.map(({ name }) => name.slice(remotes.length).split("/")[0] ?? ""))];
}

/**
 * Finds the refs that can conflict with these branch names: the branches themselves, branches below and above
 * them in the path, and a remote's branches if the remote's name is the first part of a branch name.
 */
async function refsAround(refs: RefStore, names: readonly string[]): Promise<FoundRef[]> {
  const branches = names.flatMap((name) => [name, ...foldersAbove(name)]).map((name) => heads + name);
  const firsts = names.map((name) => remotes + name.split("/")[0]);
  const patterns = [...new Set([...branches, ...firsts])];
  // Without any pattern, git would list all refs.
  return patterns.length === 0 ? [] : refs.find(patterns);
}

/** Returns whether `commit` is in the history of `tip`; false if either commit is missing. */
async function hasCommit(repo: IsolatedRepository, tip: string, commit: string): Promise<boolean> {
  return (await areCommits(repo, [tip, commit])) && (await isAncestor(repo, commit, tip));
}
