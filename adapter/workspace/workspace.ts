import { open as openFile } from "node:fs/promises";
import type { CommitAuthor } from "../../src/contract/acp.ts";
import { sanitizeLines } from "../../src/text/sanitize-text.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { requireExitCode } from "../machine/program-end.ts";
import { type ChangedFilesLimits, checkChangedFilesLimits } from "./changed-files-limits.ts";
import { gitAuthorVariables } from "./commit-messages.ts";
import { createGit, type Git, GitFailure, type GitRunOptions } from "./git.ts";
import { runInWorkFolder, shell, type WorkFolder } from "./work-folder.ts";
import type { WorkspaceReadyMarker } from "./workspace-ready-marker.ts";

export interface NewCommit {
  readonly tree: string;
  readonly parent: string;
  readonly message: string;
  readonly author: CommitAuthor;
}

export interface WorkspaceSpec extends WorkFolder {
  readonly branch: string;
  /** The commit from which the task's branch started. */
  readonly base: string;
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
 * A shell script that removes files from `.git` on which git could hang: pipes, sockets, and symlinks to
 * pipes, sockets, devices and folders. Runs in the work folder.
 */
const removeBlockingGitFilesScript = `find -H .git -type d ! -perm -700 -exec chmod u+rwx {} \\;
find -H .git -mindepth 1 \\( -type p -o -type s -o -type l \\( -xtype p -o -xtype s -o -xtype c -o -xtype b -o -xtype d \\) \\) -exec rm -f {} +`;
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

/** The copy of the repository in which the agent works. All methods run git as the agent's Linux user. */
export class Workspace {
  readonly spec: WorkspaceSpec;
  readonly git: Git;
  /** The git ref of the task's branch. */
  readonly ref: string;

  constructor(spec: WorkspaceSpec) {
    this.spec = spec;
    this.git = createGit(spec);
    this.ref = `refs/heads/${spec.branch}`;
  }

  tip(): Promise<string> {
    return this.git.run(["rev-parse", "--verify", "--end-of-options", `${this.ref}^{commit}`]);
  }

  isAncestor(older: string, newer: string): Promise<boolean> {
    return this.git.succeeds(["merge-base", "--is-ancestor", older, newer]);
  }

  treeOf(commit: string): Promise<string> {
    return this.git.run(["rev-parse", "--verify", `${commit}^{tree}`]);
  }

  async setRef(ref: string, commit: string): Promise<void> {
    await this.git.run(["update-ref", ref, commit]);
  }

  /**
   * Points HEAD at the task's branch again and removes lock files of killed programs, without a checkout. If
   * HEAD has new commits on top of the branch, first moves the branch to them.
   */
  async restoreBranch(): Promise<void> {
    const { git, ref } = this;
    await this.#open();
    await this.#run(shell(removeLeftovers, this.spec.exclude));
    if (!(await git.succeeds(["rev-parse", "--verify", "--quiet", ref])))
      await this.setRef(ref, this.spec.base);
    const head = await git.runOrNull(["rev-parse", "--verify", "HEAD^{commit}"]);
    const current = await git.runOrNull(["symbolic-ref", "--quiet", "HEAD"]);
    if (current !== ref) {
      // Counts commits that the agent made beside the task's branch as work, if they descend from the branch.
      const before = await this.tip();
      if (head !== null && (await this.isAncestor(before, head)))
        await git.run(["update-ref", ref, head, before]);
      await git.run(["symbolic-ref", "HEAD", ref]);
    }
    await this.#removeNestedRepositories();
  }

  /**
   * Writes a git tree of all files in the work folder, except files that git ignores and the files in
   * `without`. Throws `ChangedFilesTooLargeError` if the files exceed the task's limits.
   */
  async writeTree({
    index = ownIndex,
    without = [],
  }: {
    readonly index?: string;
    readonly without?: readonly string[];
  } = {}): Promise<string> {
    const path = `.git/${index}`;
    // Removes an index that the agent may have left at this path. Snapshots reuse their index for speed, since a task
    // may take many snapshots.
    await this.#run(
      shell(
        index === ownIndex ? 'rm -rf "$1" "$1.lock"' : '[ -f "$1" ] || rm -rf "$1"; rm -rf "$1.lock"',
        path,
      ),
    );
    const withIndex = { env: { GIT_INDEX_FILE: path } };
    await this.git.run(["read-tree", "--reset", "HEAD"], withIndex);
    // Measures the files before git reads their contents.
    if (without.length === 0) await checkChangedFilesLimits({ ...this.spec, git: this.git }, withIndex.env);
    const others = without.map((path) => `:(exclude,literal)${path}`);
    await this.git.run(["add", "--all", "--", ".", ...others], withIndex);
    return this.git.run(["write-tree"], withIndex);
  }

  /** Makes a commit of a git tree, without moving any branch to the commit. */
  makeCommit({ tree, parent, message, author }: NewCommit): Promise<string> {
    return this.git.run(["commit-tree", tree, "-p", parent], {
      input: sanitizeLines(message),
      env: gitAuthorVariables(author),
    });
  }

  /**
   * Makes the files in the work folder match a git tree, except files that git ignores. Leaves the branch and
   * its commits unchanged.
   */
  restore(tree: string): Promise<void> {
    return this.spec.mark.whileUnmarked(async () => {
      const withIndex = { env: { GIT_INDEX_FILE: `.git/${ownIndex}` } };
      await this.#open();
      await this.git.run(["read-tree", "--reset", "-u", tree], withIndex);
      await this.#clean(withIndex);
    });
  }

  /**
   * Removes git's index and resets `.git/info`, because an agent may have used them before a restart to hide
   * files from git.
   */
  async resetIndex(): Promise<void> {
    await this.#open();
    await this.#run(shell(`${removeLeftovers}\nrm -rf .git/index .git/${ownIndex}`, this.spec.exclude));
  }

  /**
   * Moves the task's branch to a commit and makes the files match it. Removes files that are not in the
   * commit, except files that git ignores.
   */
  moveTo(commit: string): Promise<void> {
    return this.spec.mark.whileUnmarked(async () => {
      await this.#open();
      // Uses the adapter's index, which has the state of all files and hides none.
      await this.#run(
        shell('[ ! -e "$1" ] || { rm -rf .git/index && cp "$1" .git/index; }', `.git/${ownIndex}`),
      );
      await this.git.run(["symbolic-ref", "HEAD", this.ref]);
      await this.git.run(["reset", "--quiet", "--hard", commit]);
      await this.#clean();
    });
  }

  /**
   * Makes git's index and the files match a commit, which must be the tip of the task's branch. Returns the
   * commit's git tree.
   */
  async checkOut(commit: string): Promise<string> {
    const { git } = this;
    const isIndexed = (): Promise<boolean> =>
      git.succeeds(["diff-index", "--cached", "--quiet", commit, "--"]);
    if (!(await isIndexed()) || (await git.run(["status", "--porcelain", "--no-renames"])) !== "") {
      await this.moveTo(commit);
      const [missing] = (await git.run(["ls-files", "--deleted"])).split("\n");
      // Tolerates changed files, since files that git would write differently, such as other line endings, always
      // differ. A missing file is an error.
      if (missing !== "" || !(await isIndexed()))
        throw new FatalWorkerError(
          "GIT_CHECKOUT_FAILED",
          `the work folder cannot be reset to the commit ${commit.slice(0, 10)}: ${missing || "the index"} differs`,
        );
    }
    return this.treeOf(commit);
  }

  async #run(command: readonly string[], folder = this.spec.folder): Promise<string> {
    const result = await runInWorkFolder({ ...this.spec, folder }, command);
    // Ignores a command that exceeds its time limit, and continues with what the command has done.
    if (result.end.kind !== "deadline") requireExitCode(command[0] ?? "", result);
    return result.stdout;
  }

  /**
   * Restores the owner's access to all files in the work folder. Starts in `/`, because the agent may have
   * removed access to the work folder itself.
   */
  async #open(): Promise<void> {
    const script = `chmod u+rwx "$1"; cd "$1" && ${restorePermissions}; ${removeBlockingGitFilesScript}`;
    await this.#run(shell(script, this.spec.folder), "/");
  }

  /** Removes all files that git neither ignores nor has in its index, however many there are. */
  async #clean(withIndex: GitRunOptions = {}): Promise<void> {
    try {
      await this.git.run(["clean", "-ffd", "--quiet"], { ...withIndex, withinMs: removalMs });
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      // git fails on paths that are too long for one system call; `rm` descends folder by folder and so can remove them.
      const others = ["ls-files", "--others", "--exclude-standard", "--directory", "-z"];
      const left = (await this.git.run(others, withIndex)).split("\0").filter(Boolean);
      await this.#run(["rm", "-rf", "--", ...left.slice(0, maxNested)]);
    }
  }

  /**
   * Removes the `.git` folders of nested repositories. Otherwise git would commit a nested repository only as
   * a reference, without its files.
   */
  async #removeNestedRepositories(): Promise<void> {
    const found = await this.#run(shell("find . -mindepth 2 -name .git -not -path './.git/*' -print0"));
    for (const path of found.split("\0").filter(Boolean).slice(0, maxNested)) {
      const nested = path.replace(/^\.\//, "").replace(/\/\.git$/, "");
      if (await this.git.succeeds(["check-ignore", "--quiet", "--", nested])) continue;
      if ((await this.git.run(["ls-tree", "HEAD", "--", nested])).startsWith("160000")) continue;
      await this.#run(shell('rm -rf -- "$1"', path));
    }
  }
}

/**
 * Removes lock files of killed programs from `.git`, and pipes that an agent may have put there. Called only
 * while no other program uses the repository.
 */
export async function removeStaleGitLocks(place: WorkFolder): Promise<void> {
  const script = `${removeBlockingGitFilesScript}\nfind .git -name '*.lock' -type f -delete`;
  requireExitCode("find", await runInWorkFolder(place, shell(script)));
}

/**
 * Fetches commits from a git bundle that only root may read. First copies the bundle to a temporary file of
 * the agent's Linux user, because git runs as that user.
 */
export async function fetchBundle(place: WorkFolder, bundle: string, refspec: string): Promise<void> {
  const copy = ".git/aimi-bundle";
  // Opens the file before any other wait, because a stream reports its failure only to existing listeners.
  await using file = await openFile(bundle);
  const copied = await runInWorkFolder(place, shell('rm -rf "$1" && cat > "$1"', copy), {
    input: file.createReadStream({ autoClose: false }),
  });
  if (requireExitCode("copying the bundle", copied) !== 0)
    throw new Error(`the bundle could not be copied: ${copied.stderr.trim()}`);
  try {
    await createGit(place).run(["fetch", "--quiet", "--no-tags", copy, refspec]);
  } finally {
    await runInWorkFolder(place, ["rm", "-f", copy]);
  }
}
