import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessFolder } from "../machine/process-folder.ts";
import type { CommitReader, TrackedFile } from "./commit-reader-port.ts";
import { type GitRunOptions, gitOutput, runGit } from "./run-git.ts";
import { createGitError } from "./start-git.ts";

/**
 * Environment variables that make git ignore the settings of the user and the system, for git's runs in a
 * temporary repository.
 */
const plain = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

const lacksObjects =
  "the repository is a partial clone, which lacks some objects; `git fetch --refetch --no-filter` fetches all objects";

const kindByMode: Readonly<Record<string, TrackedFile["kind"]>> = {
  "100755": "program",
  "120000": "link",
  "160000": "submodule",
};

/**
 * Reads files and commits of the git repository that contains a folder. Runs git without a shell and without
 * prompts.
 */
export function createCommitReader(folder: string): CommitReader {
  const git = (args: readonly string[], options?: Partial<GitRunOptions>): Promise<Buffer> =>
    gitOutput(args, { folder, ...options });
  const line = async (...args: string[]): Promise<string> => (await git(args)).toString().trim();

  return {
    async head() {
      const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
      const { exitCode, output, reason } = await runGit(args, { folder });
      if (exitCode === 0) return output.toString().trim();
      // With `--quiet`, git exits with 1 if there is no commit yet, and with other codes at other failures.
      if (exitCode === 1) return null;
      throw createGitError(args, reason);
    },

    async files(commit) {
      const rows = (await git(["ls-tree", "-r", "-z", "--full-tree", commit])).toString().split("\0");
      return rows.filter(Boolean).map(trackedFile);
    },

    async contents(ids) {
      if (ids.length === 0) return [];
      const input = Buffer.from(`${ids.join("\n")}\n`);
      return splitBatch(await git(["cat-file", "--batch"], { input }), ids);
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
      const inside = { folder: borrowing, env: plain, signal };
      await git(["update-ref", `refs/heads/${branch}`, commit], inside);
      const file = join(temporary, "commit.bundle");
      const what = [`refs/heads/${branch}`, ...(without === undefined ? [] : [`^${without}`])];
      const args = ["bundle", "create", "--quiet", file, ...what];
      const { exitCode, reason } = await runGit(args, inside);
      if (exitCode !== 0) throw createGitError(args, (await isPartial()) ? lacksObjects : reason);
      const kept = undo.move();
      return { file, [Symbol.asyncDispose]: () => kept.disposeAsync() };
    },
  };

  async function isPartial(): Promise<boolean> {
    const args = ["config", "--get-regexp", "^remote\\..*\\.promisor$"];
    return (await runGit(args, { folder })).exitCode === 0;
  }
}

/** Parses one row of the output of `git ls-tree`, for example `100644 blob 1ab…<tab>path`. */
function trackedFile(row: string): TrackedFile {
  const [, mode = "", id = "", path = ""] = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/s.exec(row) ?? [];
  return { path, id, kind: kindByMode[mode] ?? "file" };
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
      throw createGitError(["cat-file"], `the git object ${id} is missing`);
    const start = lineEnd + 1;
    at = start + Number(length) + 1;
    return bytes.subarray(start, start + Number(length));
  });
}
