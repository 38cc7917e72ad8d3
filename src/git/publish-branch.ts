import { sanitizeText } from "../text/sanitize-text.ts";
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

/**
 * Implements `publish` of `WorkRepository`: creates `branch` at the worker's last commit, or moves it there.
 * If an obstacle prevents this, uses `fallbackBranch` instead.
 */
export async function publishBranch(
  { commonFolder, repo }: PublishDeps,
  { commit, base, branch, fallbackBranch, beforeMove = async () => {} }: WorkToPublish,
): Promise<PublishResult> {
  if (!(await isAncestor(repo, base, commit))) throw new Error(`${commit} is not a descendant of ${base}`);
  const refs = openRefStore(commonFolder);
  const used = await branchesInUse(refs, commonFolder);
  const there = await refsAround(refs, [branch, fallbackBranch].filter(isBranchName));
  const held = await holderOf({ repo, there }, [branch, fallbackBranch], commit);
  const obstacles: BranchObstacle[] = [];
  const found = (name: string): PublishResult => ({
    ...{ kind: "published", ref: heads + name, old: commit, how: "found", aside: obstacles[0] ?? null },
  });

  for (const name of [branch, fallbackBranch]) {
    if (name === held) return found(name);
    const verdict = await judge({ repo, there, used }, name, commit);
    if ("why" in verdict) {
      obstacles.push(verdict);
      continue;
    }
    // The fallback branch already has the work: an earlier run published it there and crashed before
    // recording that. Do not publish the work twice, even if the wanted branch is free now.
    if (held !== null) return found(held);
    const move = { ref: heads + name, old: verdict.at, new: commit };
    await beforeMove(move);
    const moved = await refs.move(move, verdict.at === null ? "work published" : "more work published");
    if (moved.kind === "moved") {
      const how = move.old === null ? "created" : "moved";
      return { kind: "published", ref: move.ref, old: move.old, how, aside: obstacles[0] ?? null };
    }
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
  { commonFolder, repo }: PublishDeps,
  name: string,
): Promise<{ readonly commit: string | null; readonly obstacle: BranchObstacle | null }> {
  const refs = openRefStore(commonFolder);
  const used = await branchesInUse(refs, commonFolder);
  const there = await refsAround(refs, [name].filter(isBranchName));
  const commit = there.find((ref) => ref.name === heads + name)?.commit ?? null;
  const verdict = await judge({ repo, there, used }, name, commit);
  return { commit, obstacle: "why" in verdict ? verdict : null };
}

/**
 * Finds the first of the given branches that already contains the worker's last commit; returns null if there
 * is none.
 */
async function holderOf(
  { repo, there }: { readonly repo: IsolatedRepository; readonly there: readonly FoundRef[] },
  names: readonly string[],
  commit: string,
): Promise<string | null> {
  for (const name of names) {
    const at = there.find((ref) => ref.name === heads + name);
    if (at && at.symbolicTarget === null && (await hasCommit(repo, at.commit, commit))) return name;
  }
  return null;
}

/**
 * Checks whether swarm may move a branch to `commit`. Returns the commit to which the branch points now, or
 * the obstacle.
 */
async function judge(
  {
    repo,
    there,
    used,
  }: {
    readonly repo: IsolatedRepository;
    readonly there: readonly FoundRef[];
    readonly used: ReadonlyMap<string, string>;
  },
  name: string,
  /** The commit to which the branch would move; null if the caller asks only about the branch. */
  commit: string | null,
): Promise<{ readonly at: string | null } | BranchObstacle> {
  const branch = sanitizeText(name);
  const problem = findBranchProblem(name, remotesIn(there));
  if (problem !== null) return { branch, why: "invalid-name", reason: `the branch name ${problem}` };
  const worktree = used.get(name);
  if (worktree !== undefined)
    return { branch, why: "in-use", reason: `the branch is checked out in ${sanitizeText(worktree)}` };
  const own = there.find((ref) => ref.name === heads + name);
  const other = there.find((ref) => blocksRef(ref.name, heads + name));
  if (other)
    return {
      ...{ branch, why: "name-conflict" },
      reason: `the branch name conflicts with the existing branch ${sanitizeText(other.name.slice(heads.length))}: git cannot store a branch below another branch`,
    };
  if (!own) return { at: null };
  if (own.symbolicTarget !== null)
    return {
      branch,
      why: "alias",
      reason: `the branch is a symbolic ref to ${sanitizeText(own.symbolicTarget)}`,
    };
  if (commit === null || (await hasCommit(repo, commit, own.commit))) return { at: own.commit };
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
  const above = names.flatMap((name) => {
    const parts = name.split("/");
    return parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join("/"));
  });
  const firsts = names.map((name) => remotes + name.split("/")[0]);
  const patterns = [...new Set([...[...names, ...above].map((name) => heads + name), ...firsts])];
  // Without any pattern, git would list all refs.
  return patterns.length === 0 ? [] : refs.find(patterns);
}

/**
 * Returns whether one ref's name is a parent path of the other's, such as `a` of `a/b`. A git repository
 * cannot have both refs.
 */
function blocksRef(ref: string, wanted: string): boolean {
  return ref.startsWith(`${wanted}/`) || wanted.startsWith(`${ref}/`);
}

/** Returns whether `commit` is in the history of `tip`; false if either commit is missing. */
async function hasCommit(repo: IsolatedRepository, tip: string, commit: string): Promise<boolean> {
  return (await areCommits(repo, [tip, commit])) && (await isAncestor(repo, commit, tip));
}
