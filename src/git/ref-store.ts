import { SwarmError } from "../errors/errors.ts";
import { safeGitArguments, safeGitEnvironment } from "./isolated-repository.ts";
import { runGit } from "./run-git.ts";
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

export type RefMoveResult =
  | { readonly kind: "moved" }
  | { readonly kind: "elsewhere"; readonly found: string | null }
  | { readonly kind: "failed"; readonly reason: string };

const nobody = "0".repeat(40);

/** The identity that git writes into the reflog of a moved branch. */
const mover = { GIT_COMMITTER_NAME: "swarm", GIT_COMMITTER_EMAIL: "swarm@localhost" };

export function openRefStore(commonFolder: string): RefStore {
  const run = (args: readonly string[]) =>
    runGit([...safeGitArguments, ...args], {
      ...{ folder: commonFolder, limitMs: 60_000 },
      env: { ...safeGitEnvironment, ...mover, GIT_DIR: commonFolder },
    });
  const text = async (args: readonly string[]): Promise<string> => {
    const { exitCode, output, reason } = await run(args);
    if (exitCode !== 0) throw new SwarmError("GIT_FAILED", { command: args[0] ?? "", reason });
    return output.toString();
  };

  const find: RefStore["find"] = async (names) => {
    const format = "%(refname) %(objectname) %(symref)";
    const rows = (await text(["for-each-ref", `--format=${format}`, "--end-of-options", ...names])).split(
      "\n",
    );
    return rows.filter(Boolean).map((row) => {
      const [found = "", commit = "", symbolicTarget = ""] = row.split(" ");
      return { name: found, commit, symbolicTarget: symbolicTarget || null };
    });
  };

  return {
    find,
    containCommit: async (commit) =>
      (await text(["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${commit}`])) !== "",
    worktrees: () => text(["worktree", "list", "--porcelain", "-z"]),

    async move({ ref, old, new: commit }, why) {
      const { exitCode, reason } = await run([
        ...["update-ref", "--no-deref", "-m", `swarm: ${why}`],
        ...["--end-of-options", ref, commit, old ?? nobody],
      ]);
      if (exitCode === 0) return { kind: "moved" };
      const found = (await find([ref])).find(({ name }) => name === ref)?.commit ?? null;
      if (found === commit) return { kind: "moved" };
      return found === old ? { kind: "failed", reason } : { kind: "elsewhere", found };
    },
  };
}
