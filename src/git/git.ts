import type { GitQueries } from "./git-queries.ts";
import { runGit } from "./run-git.ts";
import { createGitError } from "./start-git.ts";

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
const noPrograms: readonly string[] = [
  ...["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"],
];

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

    async branches() {
      const names = await outputOf("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads");
      return names.split("\n").filter(Boolean);
    },

    async remotes() {
      return (await outputOf("remote")).split("\n").filter(Boolean);
    },

    async changedFiles() {
      const files = await outputOf(
        ...(await withoutFilters()),
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--",
        ".",
        ...notOurs,
      );
      return files.split("\0").filter(Boolean).length;
    },
  };

  /**
   * Returns arguments for git that disable the content filters that the repository's settings define.
   * Otherwise, git would run these programs to compare files with their commits.
   */
  async function withoutFilters(): Promise<string[]> {
    const { stdout } = await git("config", "--name-only", "--get-regexp", "^filter\\..*\\.(clean|process)$");
    const names = new Set(stdout.split("\n").flatMap((key) => /^filter\.(.*)\.\w+$/s.exec(key)?.[1] ?? []));
    return [...names].flatMap((name) =>
      ["clean=", "process=", "required=false"].flatMap((off) => ["-c", `filter.${name}.${off}`]),
    );
  }

  async function outputOf(...args: string[]): Promise<string> {
    const { stdout, reason, exitCode } = await git(...args);
    if (exitCode === 0) return stdout;
    throw createGitError(args, reason);
  }
}
