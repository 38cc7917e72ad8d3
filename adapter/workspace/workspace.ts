import { open as openFile } from "node:fs/promises";
import type { CommitAuthor } from "../../src/contract/acp.ts";
import { sanitizeLines } from "../../src/text/sanitize-text.ts";
import { runProgramAsAgentUser } from "../machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { requireExitCode } from "../machine/program-end.ts";
import { removeBlockingGitFilesScript } from "../machine/regular-file-scripts.ts";
import { type ChangedFilesLimits, checkChangedFilesLimits } from "./changed-files-limits.ts";
import { gitAuthorVariables } from "./commit-messages.ts";
import { createGit, type Git, GitFailure, type GitRunOptions } from "./git.ts";
import type { WorkspaceReadyMarker } from "./workspace-ready-marker.ts";

/** The copy of the repository in which the agent works. All methods run git as the agent's Linux user. */
export interface Workspace {
  readonly git: Git;
  readonly branch: string;
  /** The commit from which the task's branch started. */
  readonly base: string;
  readonly exclude: string;
  readonly limit: StartCommandTimeLimit;
  readonly mark: WorkspaceReadyMarker;
  tip(): Promise<string>;
  /**
   * Points HEAD at the task's branch again and removes lock files of killed programs, without a checkout. If
   * HEAD has new commits on top of the branch, first moves the branch to them.
   */
  restoreBranch(): Promise<void>;
  /**
   * Writes a git tree of all files in the work folder, except files that git ignores and the files in
   * `without`. Throws `ChangedFilesTooLargeError` if the files exceed the task's limits.
   */
  writeTree(how?: { readonly index?: string; readonly without?: readonly string[] }): Promise<string>;
  treeOf(commit: string): Promise<string>;
  isAncestor(older: string, newer: string): Promise<boolean>;
  /** Makes a commit of a git tree, without moving any branch to the commit. */
  makeCommit(commit: NewCommit): Promise<string>;
  /**
   * Makes the files in the work folder match a git tree, except files that git ignores. Leaves the branch and
   * its commits unchanged.
   */
  restore(tree: string): Promise<void>;
  /**
   * Removes git's index and resets `.git/info`, because an agent may have used them before a restart to hide
   * files from git.
   */
  resetIndex(): Promise<void>;
  /**
   * Moves the task's branch to a commit and makes the files match it. Removes files that are not in the
   * commit, except files that git ignores.
   */
  moveTo(commit: string): Promise<void>;
  /**
   * Makes git's index and the files match a commit, which must be the tip of the task's branch. Returns the
   * commit's git tree.
   */
  checkOut(commit: string): Promise<string>;
  setRef(ref: string, commit: string): Promise<void>;
}

export interface NewCommit {
  readonly tree: string;
  readonly parent: string;
  readonly message: string;
  readonly author: CommitAuthor;
}

export interface WorkspaceSpec {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly branch: string;
  readonly base: string;
  readonly limit: StartCommandTimeLimit;
  readonly workLimits: ChangedFilesLimits;
  /** The content of `.git/info/exclude` before any agent ran. The adapter resets the file to this content. */
  readonly exclude: string;
  readonly mark: WorkspaceReadyMarker;
}

/**
 * A shell script that gives the owner access to all files again. It also removes pipes and sockets, because
 * git cannot commit them, and reading one would block.
 */
const restorePermissions = `chmod u+rwx . && find . \\( -type d ! -perm -700 -exec chmod u+rwx {} \\; \\) \
  -o \\( -type f ! -perm -400 -exec chmod u+r {} + \\) -o \\( \\( -type p -o -type s \\) -exec rm -f {} + \\)`;
/**
 * A shell script that removes lock files and unfinished rebases, which killed git commands may leave. Also
 * resets `.git/info`, because its files can make git ignore files or run filters.
 */
const removeLeftovers = `find .git/ -name '*.lock' -type f -delete; rm -rf .git/rebase-merge .git/rebase-apply .git/info
  mkdir .git/info && echo '* -filter' > .git/info/attributes && printf %s "$1" > .git/info/exclude`;
const maxNested = 1_000;
/**
 * The time limit for removing files, in milliseconds. It is long because removing a million files takes
 * minutes.
 */
const removalMs = 600_000;

/**
 * The git index file that the adapter makes anew for each tree. It does not use the agent's index, which may
 * be locked, contain an unfinished merge, or hide files.
 */
const ownIndex = "aimi-index";

export function openWorkspace({
  folder,
  env,
  branch,
  base,
  limit,
  exclude,
  mark,
  workLimits: limits,
}: WorkspaceSpec): Workspace {
  const git = createGit(folder, env, limit);
  const ref = `refs/heads/${branch}`;
  const runIn = async (place: string, command: readonly string[]) => {
    using limited = limit();
    const result = await runProgramAsAgentUser({ command, env, folder: place, deadline: limited.signal });
    // Ignores a command that exceeds its time limit, and continues with what the command has done.
    if (result.end.kind !== "deadline") requireExitCode(command[0] ?? "", result);
    return result;
  };
  const run = (script: string, ...args: string[]) => runIn(folder, ["sh", "-c", script, "sh", ...args]);
  /**
   * Restores the owner's access to all files in the work folder. Starts in `/`, because the agent may have
   * removed access to the work folder itself.
   */
  const open = () =>
    runIn("/", [
      "sh",
      "-c",
      `chmod u+rwx "$1"; cd "$1" && ${restorePermissions}; ${removeBlockingGitFilesScript}`,
      "sh",
      folder,
    ]);

  const tip = (): Promise<string> =>
    git.run(["rev-parse", "--verify", "--end-of-options", `${ref}^{commit}`]);
  const isAncestor = async (older: string, newer: string): Promise<boolean> =>
    (await git.runForExitCode(["merge-base", "--is-ancestor", older, newer])) === 0;

  /** Removes all files that git neither ignores nor has in its index, however many there are. */
  async function clean(env: GitRunOptions["env"] = {}): Promise<void> {
    try {
      await git.run(["clean", "-ffd", "--quiet"], { env, withinMs: removalMs });
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      // git fails on paths that are too long for one system call; `rm` descends folder by folder and so can remove them.
      const others = ["ls-files", "--others", "--exclude-standard", "--directory", "-z"];
      const left = (await git.run(others, { env })).split("\0").filter(Boolean);
      await runIn(folder, ["rm", "-rf", "--", ...left.slice(0, maxNested)]);
    }
  }

  const moveTo = (commit: string): Promise<void> =>
    mark.whileUnmarked(async () => {
      await open();
      // Uses the adapter's index, which has the state of all files and hides none.
      await run('[ ! -e "$1" ] || { rm -rf .git/index && cp "$1" .git/index; }', `.git/${ownIndex}`);
      await git.run(["symbolic-ref", "HEAD", ref]);
      await git.run(["reset", "--quiet", "--hard", commit]);
      await clean();
    });

  /**
   * Removes the `.git` folders of nested repositories. Otherwise git would commit a nested repository only as
   * a reference, without its files.
   */
  async function removeNestedRepositories(): Promise<void> {
    const { stdout } = await run("find . -mindepth 2 -name .git -not -path './.git/*' -print0");
    for (const path of stdout.split("\0").filter(Boolean).slice(0, maxNested)) {
      const nested = path.replace(/^\.\//, "").replace(/\/\.git$/, "");
      if ((await git.runForExitCode(["check-ignore", "--quiet", "--", nested])) === 0) continue;
      if ((await git.run(["ls-tree", "HEAD", "--", nested])).startsWith("160000")) continue;
      await run('rm -rf -- "$1"', path);
    }
  }

  return {
    git,
    branch,
    base,
    exclude,
    limit,
    mark,
    tip,
    isAncestor,

    async restoreBranch() {
      await open();
      await run(removeLeftovers, exclude);
      if ((await git.runForExitCode(["rev-parse", "--verify", "--quiet", ref])) !== 0)
        await git.run(["update-ref", ref, base]);
      const head = await git.runOrNull(["rev-parse", "--verify", "HEAD^{commit}"]);
      const current = await git.runOrNull(["symbolic-ref", "--quiet", "HEAD"]);
      if (current !== ref) {
        // Counts commits that the agent made beside the task's branch as work, if they descend from the branch.
        const before = await tip();
        if (head !== null && (await isAncestor(before, head)))
          await git.run(["update-ref", ref, head, before]);
        await git.run(["symbolic-ref", "HEAD", ref]);
      }
      await removeNestedRepositories();
    },

    async writeTree({ index = ownIndex, without = [] } = {}) {
      const path = `.git/${index}`;
      // Removes an index that the agent may have left at this path. Snapshots reuse their index for speed, since a task
      // may take many snapshots.
      await run(
        index === ownIndex ? 'rm -rf "$1" "$1.lock"' : '[ -f "$1" ] || rm -rf "$1"; rm -rf "$1.lock"',
        path,
      );
      const withIndex = { env: { GIT_INDEX_FILE: path } };
      await git.run(["read-tree", "--reset", "HEAD"], withIndex);
      // Measures the files before git reads their contents.
      if (without.length === 0)
        await checkChangedFilesLimits({ folder, git, limit, base, limits }, withIndex.env);
      const others = without.map((path) => `:(exclude,literal)${path}`);
      await git.run(["add", "--all", "--", ".", ...others], withIndex);
      return git.run(["write-tree"], withIndex);
    },

    treeOf: (commit) => git.run(["rev-parse", "--verify", `${commit}^{tree}`]),

    makeCommit: ({ tree, parent, message, author }) =>
      git.run(["commit-tree", tree, "-p", parent], {
        input: sanitizeLines(message),
        env: gitAuthorVariables(author),
      }),

    restore: (tree) =>
      mark.whileUnmarked(async () => {
        const withIndex = { env: { GIT_INDEX_FILE: `.git/${ownIndex}` } };
        await open();
        await git.run(["read-tree", "--reset", "-u", tree], withIndex);
        await clean(withIndex.env);
      }),

    async resetIndex() {
      await open();
      await run(`${removeLeftovers}\nrm -rf .git/index .git/${ownIndex}`, exclude);
    },

    moveTo,

    async checkOut(commit) {
      const isIndexed = async (): Promise<boolean> =>
        (await git.runForExitCode(["diff-index", "--cached", "--quiet", commit, "--"])) === 0;
      if (!(await isIndexed()) || (await git.run(["status", "--porcelain", "--no-renames"])) !== "") {
        await moveTo(commit);
        const [missing] = (await git.run(["ls-files", "--deleted"])).split("\n");
        // Tolerates changed files, since files that git would write differently, such as other line endings, always
        // differ. A missing file is an error.
        if (missing !== "" || !(await isIndexed()))
          throw new FatalWorkerError(
            "GIT_CHECKOUT_FAILED",
            `the work folder cannot be reset to the commit ${commit.slice(0, 10)}: ${missing || "the index"} differs`,
          );
      }
      return git.run(["rev-parse", "--verify", `${commit}^{tree}`]);
    },

    setRef: async (name, commit) => {
      await git.run(["update-ref", name, commit]);
    },
  };
}

/**
 * Removes lock files of killed programs from `.git`, and pipes that an agent may have put there. Called only
 * while no other program uses the repository.
 */
export async function removeStaleGitLocks({ folder, env, limit }: BundlePlace): Promise<void> {
  using limited = limit();
  const command = ["sh", "-c", `${removeBlockingGitFilesScript}\nfind .git -name '*.lock' -type f -delete`];
  requireExitCode("find", await runProgramAsAgentUser({ command, env, folder, deadline: limited.signal }));
}

type BundlePlace = Pick<WorkspaceSpec, "folder" | "env" | "limit">;

/**
 * Fetches commits from a git bundle that only root may read. First copies the bundle to a temporary file of
 * the agent's Linux user, because git runs as that user.
 */
export async function fetchBundle(
  { folder, env, limit }: BundlePlace,
  { bundle, refspec }: { readonly bundle: string; readonly refspec: string },
): Promise<void> {
  const copy = ".git/aimi-bundle";
  using limited = limit();
  // Opens the file before any other wait, because a stream reports its failure only to existing listeners.
  await using file = await openFile(bundle);
  const copied = await runProgramAsAgentUser({
    ...{ command: ["sh", "-c", 'rm -rf "$1" && cat > "$1"', "sh", copy], env, folder },
    ...{ input: file.createReadStream({ autoClose: false }), deadline: limited.signal },
  });
  if (requireExitCode("copying the bundle", copied) !== 0)
    throw new Error(`the bundle could not be copied: ${copied.stderr.trim()}`);
  try {
    await createGit(folder, env, limit).run(["fetch", "--quiet", "--no-tags", copy, refspec]);
  } finally {
    await runProgramAsAgentUser({ command: ["rm", "-f", copy], env, folder, deadline: limited.signal });
  }
}
