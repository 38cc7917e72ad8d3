import { gitOutput, runGit, withSettings } from "./run-git.ts";

/** Git queries about a worktree. */
export interface GitQueries {
  version(): Promise<string | null>;
  /** Returns the ID of the HEAD commit; null if the repository has no commit yet. */
  head(): Promise<string | null>;
  /**
   * Returns the name and the email address that git would record as the author of a new commit in this
   * worktree.
   */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /**
   * Returns the number of tracked and untracked files that differ from HEAD. Does not count task files,
   * settings and swarm's own files.
   */
  changedFiles(): Promise<number>;
}

/**
 * Pathspecs that exclude files in `.aimi/` from git's list of changed files: swarm's own files, and the task
 * files. Workers get the task files from swarm instead of git.
 */
const notOurs: readonly string[] = [
  ...["tasks", "swarms", "reports", "sandboxes", "swarm-state.json", "events.ndjson*"],
  // Exclude the settings files too, because the host reads them itself, committed or not.
  ...["config.json", ".gitignore"],
].map((name) => `:(top,exclude).aimi/${name}`);

/** Arguments for git that prevent it from running programs named in the repository's settings. */
const noPrograms: readonly string[] = withSettings(
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.untrackedCache=false",
);

/** Runs git queries in one folder, without a shell and without prompts. */
export function createGit(folder: string): GitQueries {
  const git = async (...args: string[]) => {
    const { output, ...end } = await runGit([...noPrograms, ...args], { folder });
    return { ...end, stdout: output.toString().trimEnd() };
  };

  return {
    async version() {
      const { stdout, exitCode } = await git("--version");
      return exitCode === 0 ? stdout.replace("git version ", "") : null;
    },

    async head() {
      const { stdout, exitCode } = await git("rev-parse", "--verify", "--quiet", "HEAD^{commit}");
      return exitCode === 0 ? stdout.trim() : null;
    },

    async user() {
      // Read the name and the email one by one, because `git var` fails if either is missing.
      const [name, email] = await Promise.all(
        ["user.name", "user.email"].map(async (key) => (await git("config", "--get", key)).stdout.trim()),
      );
      return { name: name || "swarm", email: email || "swarm@localhost" };
    },

    branches: () => rowsOf("\n", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"),
    remotes: () => rowsOf("\n", "remote"),

    async changedFiles() {
      const status = ["status", "--porcelain=v1", "-z", "--no-renames", "--", ".", ...notOurs];
      return (await rowsOf("\0", ...(await withoutFilters()), ...status)).length;
    },
  };

  /**
   * Returns arguments for git that disable the content filters that the repository's settings define.
   * Otherwise, git would run these programs to compare files with their commits.
   */
  async function withoutFilters(): Promise<string[]> {
    const { stdout } = await git("config", "--name-only", "--get-regexp", "^filter\\..*\\.(clean|process)$");
    const names = new Set(stdout.split("\n").flatMap((key) => /^filter\.(.*)\.\w+$/s.exec(key)?.[1] ?? []));
    const off = ["clean=", "process=", "required=false"];
    return withSettings(...[...names].flatMap((name) => off.map((field) => `filter.${name}.${field}`)));
  }

  async function rowsOf(separator: string, ...args: string[]): Promise<string[]> {
    const output = await gitOutput([...noPrograms, ...args], { folder });
    return output.toString().split(separator).filter(Boolean);
  }
}
