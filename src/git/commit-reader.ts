import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { createProcessFolder } from "../machine/process-folder.ts";
import type { CommitReader, TrackedFile } from "./commit-reader-port.ts";
import { type GitRunOptions, runGit } from "./run-git.ts";

/**
 * Environment variables that make git ignore the settings of the user and the system, for git's runs in a
 * temporary repository.
 */
const plain = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

interface GitOptions extends Pick<GitRunOptions, "input" | "env" | "signal"> {
  readonly cwd?: string;
}

/**
 * Reads files and commits of the git repository that contains a folder. Runs git without a shell and without
 * prompts.
 */
export function createCommitReader(folder: string): CommitReader {
  const run = (args: readonly string[], { cwd = folder, ...options }: GitOptions = {}) =>
    runGit(args, { folder: cwd, ...options });
  const git = async (args: readonly string[], options?: GitOptions): Promise<Buffer> => {
    const { exitCode, reason, output } = await run(args, options);
    if (exitCode !== 0) throw new SwarmError("GIT_FAILED", { command: args[0] ?? "", reason });
    return output;
  };
  const line = async (...args: string[]): Promise<string> => (await git(args)).toString().trim();

  return {
    async head() {
      const result = await run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
      if (result.exitCode === 0) return result.output.toString().trim();
      // With `--quiet`, git exits with 1 if there is no commit yet, and with other codes at other failures.
      if (result.exitCode === 1) return null;
      throw new SwarmError("GIT_FAILED", { command: "rev-parse", reason: result.reason });
    },

    async files(commit) {
      const rows = (await git(["ls-tree", "-r", "-z", "--full-tree", commit])).toString().split("\0");
      return rows.filter(Boolean).map(trackedFile);
    },

    async contents(ids) {
      if (ids.length === 0) return [];
      return splitBatch(
        await git(["cat-file", "--batch"], { input: Buffer.from(`${ids.join("\n")}\n`) }),
        ids,
      );
    },

    isShallow: async () => (await line("rev-parse", "--is-shallow-repository")) === "true",

    async bundle(commit, branch, signal, without) {
      await using undo = new AsyncDisposableStack();
      const { folder: temporary } = undo.use(await createProcessFolder(tmpdir(), "swarm-bundle-"));
      // Use a temporary repository that borrows the user's objects. So the user's repository gets no new ref,
      // and its settings do not apply.
      const borrowing = join(temporary, "borrowing.git");
      const objects = await line("rev-parse", "--path-format=absolute", "--git-path", "objects");
      const format = commit.length === 64 ? ["--object-format=sha256"] : [];
      await git(["init", "--quiet", "--bare", "--template=", ...format, borrowing], { env: plain });
      await writeFile(join(borrowing, "objects", "info", "alternates"), `${objects}\n`);
      const inside = { cwd: borrowing, env: plain, ...(signal && { signal }) };
      await git(["update-ref", `refs/heads/${branch}`, commit], inside);
      const file = join(temporary, "commit.bundle");
      const what = [`refs/heads/${branch}`, ...(without === undefined ? [] : [`^${without}`])];
      const made = await run(["bundle", "create", "--quiet", file, ...what], inside);
      if (made.exitCode !== 0) {
        const reason = (await isPartial())
          ? "the repository is a partial clone, which lacks some objects; `git fetch --refetch --no-filter` fetches all objects"
          : made.reason;
        throw new SwarmError("GIT_FAILED", { command: "bundle", reason });
      }
      const kept = undo.move();
      return { file, [Symbol.asyncDispose]: () => kept.disposeAsync() };
    },
  };

  async function isPartial(): Promise<boolean> {
    const { exitCode } = await run(["config", "--get-regexp", "^remote\\..*\\.promisor$"]);
    return exitCode === 0;
  }
}

/** Parses one row of the output of `git ls-tree`, for example `100644 blob 1ab…<tab>path`. */
function trackedFile(row: string): TrackedFile {
  const [, mode = "", id = "", path = ""] = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/s.exec(row) ?? [];
  const kinds: Readonly<Record<string, TrackedFile["kind"]>> = {
    "100755": "program",
    "120000": "link",
    "160000": "submodule",
  };
  return { path, id, kind: kinds[mode] ?? "file" };
}

/**
 * Splits the output of `git cat-file --batch` into the contents of the objects. git prints each object as a
 * line `<id> blob <length>`, the content and a line break.
 */
function splitBatch(bytes: Buffer, ids: readonly string[]): Uint8Array[] {
  let at = 0;
  return ids.map((id) => {
    const lineEnd = bytes.indexOf(10, at);
    const [, type, length] = bytes.toString("latin1", at, lineEnd).split(" ");
    if (type === "missing" || length === undefined)
      throw new SwarmError("GIT_FAILED", { command: "cat-file", reason: `the git object ${id} is missing` });
    const start = lineEnd + 1;
    at = start + Number(length) + 1;
    return bytes.subarray(start, start + Number(length));
  });
}
