import { hasControlCharacters } from "../../text/sanitize-text.ts";

/**
 * Returns whether git accepts a name as a branch name (as `git check-ref-format --branch` does), and no
 * program would read the name as a flag. A test compares thousands of results with git's own.
 */
export function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.startsWith("-")) return false;
  if (name.startsWith("/") || name.endsWith("/") || name.endsWith(".") || name.includes("//")) return false;
  if (name.includes("..") || name.includes("@{")) return false;
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * Names that git resolves to refs of its own, such as `head`, before it looks for branches. The names are in
 * lower case, and are compared without regard to case, because some file systems ignore case.
 */
const gitsOwn: ReadonlySet<string> = new Set([
  "head",
  "stash",
  "auto_merge",
  "merge_autostash",
  "fetch_head",
  "orig_head",
  "merge_head",
  "cherry_pick_head",
  "revert_head",
  "rebase_head",
  "bisect_head",
  "bisect_expected_rev",
  "notes_merge_ref",
  "notes_merge_partial",
]);

/**
 * The folders in which git looks for refs other than branches. A branch name that begins with such a folder
 * would be ambiguous.
 */
const gitsFolders: ReadonlySet<string> = new Set([
  "refs",
  "heads",
  "tags",
  "remotes",
  "notes",
  "bisect",
  "replace",
  "rewritten",
  "worktree",
  "worktrees",
  "main-worktree",
]);

/**
 * The name that `git clone` gives to the remote. swarm creates no branch whose name begins with this name
 * and a slash, even if the repository has no remote yet.
 */
const usualRemote = "origin";

/**
 * Returns why swarm cannot put merged results on a branch of this name, or null if it can. Git must accept
 * the name, and must not resolve the name to any other ref.
 */
export function findBranchProblem(name: string, remotes: readonly string[]): string | null {
  if (!isBranchName(name)) return "is not a name that git accepts for a branch";
  if (hasControlCharacters(name)) return "contains invisible characters";
  const low = name.toLowerCase();
  const [first = ""] = low.split("/");
  if (gitsOwn.has(low) || name.endsWith("_HEAD"))
    return "is a name that git reserves for its own references, for example HEAD";
  if (first === "refs" || (gitsFolders.has(first) && first !== low))
    return `begins with ${first}/, where git keeps refs that are not branches`;
  if (/^logs\/(?:head$|refs\/)/.test(low)) return "begins with a path that git uses for its own files";
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(low)) return "has the form of a commit id";
  const remote = [usualRemote, ...remotes].find((each) => `${low}/`.startsWith(`${each.toLowerCase()}/`));
  return remote === undefined
    ? null
    : `begins with the name of the remote ${remote}, and would hide that remote's branches`;
}

/** The hint that swarm shows in error messages about an unsuitable branch name. */
export const branchNameHint =
  "Use letters, digits, `-`, `_`, `.` and `/`, and begin the name with a word that git does not reserve, for example feat/login.";

/**
 * Returns whether two branch names are equal, or one is a parent path of the other (`a` and `a/b`). Git
 * cannot store both branches.
 */
export function branchNamesClash(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
