import type { WorkerErrorCode } from "../../src/protocol/rules/worker-error-codes.ts";
import type { EarlierAdapterRunResults } from "../journal/earlier-runs.ts";
import { runProgramAsAgentUser } from "../machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { ProgramResultUnknownError, requireExitCode } from "../machine/program-end.ts";
import { readRegularFileScript } from "../machine/regular-file-scripts.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import type { ChangedFilesLimits } from "./changed-files-limits.ts";
import { createGit } from "./git.ts";
import { restoreUncommittedWorkSnapshot } from "./work-snapshots.ts";
import { fetchBundle, openWorkspace, removeStaleGitLocks, type Workspace } from "./workspace.ts";
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
  const { paths, env, branch, repoUrl, history, limit } = request;
  const folder = paths.workspace;
  const git = createGit(folder, env, limit);
  // Removes pipes before git reads anything in the folder, since git would block on a pipe.
  await removeStaleGitLocks({ folder, env, limit });
  // Lets git itself decide whether the text is a valid branch name.
  if ((await git.runForExitCode(["check-ref-format", "--branch", branch])) !== 0)
    throw new FatalWorkerError(
      "GIT_CHECKOUT_FAILED",
      `git does not accept ${JSON.stringify(branch)} as a branch name`,
    );
  if (repoUrl.startsWith("bundle:")) await fetchRepository(request);
  else if ((await git.runForExitCode(["rev-parse", "--git-dir"])) !== 0)
    throw new FatalWorkerError("GIT_CLONE_FAILED", `the folder ${folder} contains no git repository`);

  const base = request.knownBase ?? request.baseCommit ?? (await headOf(request));
  if ((await git.runForExitCode(["cat-file", "-e", `${base}^{commit}`])) !== 0)
    throw new FatalWorkerError("GIT_CHECKOUT_FAILED", `the base commit ${base} is not in the repository`);
  const exclude = request.knownExclude ?? (await readExclude(request));
  const mark = createWorkspaceReadyMarker(paths);
  const workspace = openWorkspace({
    ...{ folder, env, branch, base, limit, exclude, mark },
    workLimits: request.workLimits,
  });
  const good = history.lastCheckpoint?.commit ?? base;

  await attempt("GIT_CHECKOUT_FAILED", async () => {
    if (request.knownBase !== null && (await mark.isSet()) && (await hasGoodCommit(workspace, good)))
      return workspace.restoreBranch();
    await mark.whileUnmarked(async () => {
      if (
        history.lastBundle !== null &&
        (await git.runForExitCode(["cat-file", "-e", `${good}^{commit}`])) !== 0
      )
        await fetchBundle(
          { folder, env, limit },
          { bundle: history.lastBundle, refspec: `+refs/heads/${branch}:refs/aimi/restored` },
        );
      await git.run(["update-ref", `refs/heads/${branch}`, good]);
      if (request.knownBase !== null) await workspace.resetIndex();
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
      using limited = limit();
      const command = ["sh", "-c", emptyFolder, "sh", paths.workspace];
      const emptied = await runProgramAsAgentUser({ command, env, folder: "/", deadline: limited.signal });
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
async function hasGoodCommit({ git, branch, isAncestor, tip }: Workspace, good: string): Promise<boolean> {
  if ((await git.runForExitCode(["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`])) !== 0)
    return false;
  if ((await git.runForExitCode(["cat-file", "-e", `${good}^{commit}`])) !== 0) return false;
  return isAncestor(good, await tip());
}

/**
 * Returns the commit at the repository's HEAD. It is the task's base commit if the task request names none.
 */
async function headOf({ paths, env, limit }: WorkspaceRequest): Promise<string> {
  const git = createGit(paths.workspace, env, limit);
  const head = await git.runOrNull(["rev-parse", "--verify", "HEAD^{commit}"]);
  if (head === null)
    throw new FatalWorkerError(
      "GIT_CHECKOUT_FAILED",
      "the repository has no commit from which the task can start",
    );
  return head;
}

/**
 * Reads `.git/info/exclude` before any agent runs. The image's own entries in this file are kept, but an
 * agent could later add entries to hide files.
 */
async function readExclude({ paths, env, limit }: WorkspaceRequest): Promise<string> {
  using limited = limit();
  const command = ["sh", "-c", readRegularFileScript, "sh", ".git/info/exclude"];
  const read = await runProgramAsAgentUser({
    command,
    env,
    folder: paths.workspace,
    deadline: limited.signal,
  });
  // Throws if the read was cut off, instead of returning an empty text: every later run uses the result.
  return requireExitCode("reading .git/info/exclude", read) === 0 ? read.stdout : "";
}

async function fetchRepository({ paths, env, repoUrl, baseCommit, limit }: WorkspaceRequest): Promise<void> {
  const folder = paths.workspace;
  const bundle = repoUrl.slice("bundle:".length).replace(/^\/aimi\//, `${paths.aimi}/`);
  await attempt("GIT_CLONE_FAILED", async () => {
    const git = createGit(folder, env, limit);
    const base = baseCommit;
    if ((await git.runForExitCode(["rev-parse", "--git-dir"])) !== 0) {
      await git.run(["init", "--quiet"]);
    } else if (base !== null && (await git.runForExitCode(["cat-file", "-e", `${base}^{commit}`])) === 0)
      return;
    await fetchBundle({ folder, env, limit }, { bundle, refspec: "+refs/*:refs/aimi/in/*" });
    if ((await git.runForExitCode(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])) === 0) return;
    // Returns without a checkout: `prepareWorkspace` reports a base commit that the bundle lacks.
    if (base !== null && (await git.runForExitCode(["cat-file", "-e", `${base}^{commit}`])) !== 0) return;
    const [first] = (await git.run(["for-each-ref", "--format=%(objectname)", "refs/aimi/in"])).split("\n");
    const start = base ?? first;
    if (!start) throw new Error("the git bundle contains no branch");
    await git.run(["checkout", "--quiet", "--detach", start]);
  });
}

async function attempt<Result>(code: WorkerErrorCode, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProgramResultUnknownError) throw error;
    throw new FatalWorkerError(code, error instanceof Error ? error.message : String(error));
  }
}
