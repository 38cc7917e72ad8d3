import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { safeGitArguments, safeGitEnvironment } from "./isolated-repository.ts";
import { isCommitId } from "./rules/commit-id.ts";
import { gitOutput, runGit } from "./run-git.ts";
import type { RefMove } from "./work-repository-port.ts";

export interface FoundRef {
  readonly name: string;
  readonly commit: string;
  /** The name of the ref to which a symbolic ref points; null for an ordinary ref. */
  readonly symbolicTarget: string | null;
}

/** Reads and moves the refs of the user's repository, without running the repository's hooks. */
export interface RefStore {
  /** Finds the refs with these names, and all refs whose names begin with one of these names and `/`. */
  find(names: readonly string[]): Promise<FoundRef[]>;
  /** Returns the commit to which a ref points; null if the ref does not exist. */
  commitAt(ref: string): Promise<string | null>;
  /**
   * Returns whether at least one ref of the repository contains the given commit. The commit must exist in
   * the repository.
   */
  containCommit(commit: string): Promise<boolean>;
  /** Moves a ref, but only if the ref still points at `move.old`. */
  move(move: RefMove, why: string): Promise<RefMoveResult>;
  /** Returns the output of `git worktree list`. */
  worktrees(): Promise<string>;
}

type RefMoveResult =
  | { readonly kind: "moved" }
  | { readonly kind: "elsewhere"; readonly found: string | null }
  | { readonly kind: "failed"; readonly reason: string };

const nobody = "0".repeat(40);

/** The identity that git writes into the reflog of a moved branch. */
const mover = { GIT_COMMITTER_NAME: "swarm", GIT_COMMITTER_EMAIL: "swarm@localhost" };

export function openRefStore(commonFolder: string): RefStore {
  const env = { ...safeGitEnvironment, ...mover, GIT_DIR: commonFolder };
  const options = { folder: commonFolder, limitMs: 60_000, env };
  const text = async (...args: string[]): Promise<string> =>
    (await gitOutput([...safeGitArguments, ...args], options)).toString();

  const find: RefStore["find"] = async (names) => {
    const format = "%(refname) %(objectname) %(symref)";
    const refs = await text("for-each-ref", `--format=${format}`, "--end-of-options", ...names);
    const rows = refs.split("\n").filter(Boolean);
    return rows.map((row) => {
      const [found = "", commit = "", symbolicTarget = ""] = row.split(" ");
      return { name: found, commit, symbolicTarget: symbolicTarget || null };
    });
  };

  const commitAt: RefStore["commitAt"] = async (ref) => {
    // Read the ref's own file first: it takes precedence over the packed refs, and to read it needs no git.
    const own = (await readFile(join(commonFolder, ref), "latin1").catch(() => "")).trim();
    if (isCommitId(own)) return own;
    return (await find([ref])).find(({ name }) => name === ref)?.commit ?? null;
  };

  return {
    find,
    commitAt,
    containCommit: async (commit) =>
      (await text("for-each-ref", "--count=1", "--format=%(refname)", `--contains=${commit}`)) !== "",
    worktrees: () => text("worktree", "list", "--porcelain", "-z"),

    async move({ ref, old, new: commit }, why) {
      const update = ["update-ref", "--no-deref", "-m", `swarm: ${why}`, "--end-of-options"];
      const args = [...safeGitArguments, ...update, ref, commit, old ?? nobody];
      const { exitCode, reason } = await runGit(args, options);
      if (exitCode === 0) return { kind: "moved" };
      const found = await commitAt(ref);
      if (found === commit) return { kind: "moved" };
      return found === old ? { kind: "failed", reason } : { kind: "elsewhere", found };
    },
  };
}
