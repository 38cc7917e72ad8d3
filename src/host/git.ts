import { execa } from "execa";
import { SwarmError } from "../domain/errors.ts";
import type { Git } from "../ports/project-files.ts";

/** Git in one folder, with argument arrays and nothing that asks. */
export function gitIn(folder: string): Git {
  const git = (...args: string[]) =>
    execa("git", args, {
      cwd: folder,
      reject: false,
      stdin: "ignore",
      env: { GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
    });

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
      // Asked one by one: `git var` refuses to answer where a part is missing.
      const [name, email] = await Promise.all(
        ["user.name", "user.email"].map(async (key) => (await git("config", "--get", key)).stdout.trim()),
      );
      return { name: name || "swarm", email: email || "swarm@localhost" };
    },

    async changedFiles() {
      const { stdout, stderr, exitCode } = await git("status", "--porcelain=v1", "-z", "--no-renames");
      if (exitCode !== 0)
        throw new SwarmError("GIT_FAILED", {
          command: "status",
          reason: exitCode === undefined ? "git is not installed" : stderr.trim() || `exit ${exitCode}`,
        });
      return stdout.split("\0").filter(Boolean).length;
    },
  };
}
