import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";
import type { EarlierAdapterRunResults } from "../journal/earlier-runs.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { ProgramResultUnknownError, requireExitCode } from "../machine/program-end.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import type { ChangedFilesLimits } from "./changed-files-limits.ts";
import { createGit, type Git } from "./git.ts";
import { readWorkFile, runInWorkFolder, shell, type WorkFolder } from "./work-folder.ts";
import { restoreUncommittedWorkSnapshot } from "./work-snapshots.ts";
import { fetchBundle, removeStaleGitLocks, Workspace } from "./workspace.ts";
import { createWorkspaceReadyMarker } from "./workspace-ready-marker.ts";

export interface WorkspaceRequest {
  readonly paths: SandboxPaths;
  readonly env: Readonly<Record<string, string>>;
  readonly branch: string;
  readonly repoUrl: string;
  readonly baseCommit: string | null;
  /** The task's base commit, if an earlier adapter process on this volume chose it; else null. */
  readonly knownBase: string | null;
  readonly history: Pick<EarlierAdapterRunResults, "statusById" | "lastCheckpoint" | "lastBundle">;
  readonly limit: StartCommandTimeLimit;
  readonly workLimits: ChangedFilesLimits;
  /** The content of `.git/info/exclude`, if an earlier adapter process on this volume read it; else null. */
  readonly knownExclude: string | null;
}

/**
 * Prepares the repository on the task's branch. Keeps the workspace if an earlier adapter process fully
 * prepared it in this container; otherwise checks out the last good commit and restores unfinished work, if
 * necessary from git bundles.
 */
export async function prepareWorkspace(request: WorkspaceRequest): Promise<Workspace> {
  const { paths, env, branch, history, limit, knownBase, workLimits } = request;
  const folder = paths.workspace;
  const place = { folder, env, limit };
  const git = createGit(place);
  // Removes pipes before git reads anything in the folder, since git would block on a pipe.
  await removeStaleGitLocks(place);
  // Lets git itself decide whether the text is a valid branch name.
  if (!(await git.succeeds(["check-ref-format", "--branch", branch])))
    throw new FatalWorkerError(
      "GIT_CHECKOUT_FAILED",
      `git does not accept ${JSON.stringify(branch)} as a branch name`,
    );
  if (request.repoUrl.startsWith("bundle:")) await fetchRepository(request, place, git);
  else if (!(await git.succeeds(["rev-parse", "--git-dir"])))
    throw new FatalWorkerError("GIT_CLONE_FAILED", `the folder ${folder} contains no git repository`);

  const base = knownBase ?? request.baseCommit ?? (await headOf(git));
  if (!(await hasCommit(git, base)))
    throw new FatalWorkerError("GIT_CHECKOUT_FAILED", `the base commit ${base} is not in the repository`);
  // The image's own entries in this file are kept, but an agent could later add entries to hide files.
  const exclude = request.knownExclude ?? (await readWorkFile(place, ".git/info/exclude")) ?? "";
  const mark = createWorkspaceReadyMarker(paths);
  const workspace = new Workspace({ ...place, branch, base, exclude, mark, workLimits });
  const good = history.lastCheckpoint?.commit ?? base;

  await attempt("GIT_CHECKOUT_FAILED", async () => {
    if (knownBase !== null && (await mark.isSet()) && (await hasGoodCommit(workspace, good)))
      return workspace.restoreBranch();
    await mark.whileUnmarked(async () => {
      if (history.lastBundle !== null && !(await hasCommit(git, good)))
        await fetchBundle(place, history.lastBundle, `+${workspace.ref}:refs/aimi/restored`);
      await workspace.setRef(workspace.ref, good);
      if (knownBase !== null) await workspace.resetIndex();
      await workspace.moveTo(good);
      await restoreUncommittedWorkSnapshot(request, workspace, good);
    });
  });
  return workspace;
}

/**
 * Rebuilds the repository from the git bundles on the adapter's volume, after the repository has become
 * unusable for git.
 */
export async function rebuildWorkspace(
  request: WorkspaceRequest,
  { commit, bundle }: { readonly commit: string; readonly bundle: string | null },
): Promise<void> {
  const { paths, env, repoUrl, limit } = request;
  const history = { statusById: new Map(), lastCheckpoint: { commit, bundle }, lastBundle: bundle };
  await createWorkspaceReadyMarker(paths).whileUnmarked(async () => {
    // Empties the folder only if the repository came as a bundle; any other repository could not be fetched again.
    if (repoUrl.startsWith("bundle:")) {
      const command = shell(emptyFolder, paths.workspace);
      const emptied = await runInWorkFolder({ folder: "/", env, limit }, command);
      requireExitCode("emptying the work folder", emptied);
    }
    await prepareWorkspace({ ...request, history });
  });
}

const emptyFolder =
  'chmod u+rwx "$1"; find "$1" -type d ! -perm -700 -exec chmod u+rwx {} \\;; find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf {} +';

/**
 * Whether the task's branch exists and contains the last good commit. If so, the adapter keeps the files in
 * the workspace.
 */
async function hasGoodCommit(workspace: Workspace, good: string): Promise<boolean> {
  const { git, ref } = workspace;
  if (!(await git.succeeds(["rev-parse", "--verify", "--quiet", ref]))) return false;
  return (await hasCommit(git, good)) && workspace.isAncestor(good, await workspace.tip());
}

const hasCommit = (git: Git, commit: string): Promise<boolean> =>
  git.succeeds(["cat-file", "-e", `${commit}^{commit}`]);

/**
 * Returns the commit at the repository's HEAD. It is the task's base commit if the task request names none.
 */
async function headOf(git: Git): Promise<string> {
  const head = await git.runOrNull(["rev-parse", "--verify", "HEAD^{commit}"]);
  if (head === null)
    throw new FatalWorkerError(
      "GIT_CHECKOUT_FAILED",
      "the repository has no commit from which the task can start",
    );
  return head;
}

async function fetchRepository(
  { paths, repoUrl, baseCommit: base }: WorkspaceRequest,
  place: WorkFolder,
  git: Git,
): Promise<void> {
  const bundle = repoUrl.slice("bundle:".length).replace(/^\/aimi\//, `${paths.aimi}/`);
  await attempt("GIT_CLONE_FAILED", async () => {
    if (!(await git.succeeds(["rev-parse", "--git-dir"]))) await git.run(["init", "--quiet"]);
    else if (base !== null && (await hasCommit(git, base))) return;
    await fetchBundle(place, bundle, "+refs/*:refs/aimi/in/*");
    if (await git.succeeds(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])) return;
    // Returns without a checkout: `prepareWorkspace` reports a base commit that the bundle lacks.
    if (base !== null && !(await hasCommit(git, base))) return;
    const [first] = (await git.run(["for-each-ref", "--format=%(objectname)", "refs/aimi/in"])).split("\n");
    const start = base ?? first;
    if (!start) throw new Error("the git bundle contains no branch");
    await git.run(["checkout", "--quiet", "--detach", start]);
  });
}

async function attempt(code: WorkerErrorCode, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ProgramResultUnknownError) throw error;
    throw new FatalWorkerError(code, error instanceof Error ? error.message : String(error));
  }
}
