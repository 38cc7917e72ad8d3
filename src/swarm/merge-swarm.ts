import { availableParallelism, totalmem } from "node:os";
import type { MergeReport } from "../contract/merge.ts";
import type { ContainerLimits } from "../engine/containers.ts";
import { messageOf, requireExpected } from "../errors/errors.ts";
import type { CommitReader } from "../git/commit-reader-port.ts";
import { ensureImageAtHead } from "../images/ensure-image-at-head.ts";
import type { Project } from "../project/project.ts";
import { findSandboxRuntime } from "../sandbox/find-runtime.ts";
import { sandboxLimits } from "../sandbox/sandbox-limits.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { acquireSwarmOwnership } from "../state/acquire-ownership.ts";
import { requireSwarmState, type StateAccess } from "../state/find-state.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { homeVolumeName } from "../state/rules/worker-container-name.ts";
import { findTestCommandAtHead } from "../tasks/test-command-at-head.ts";
import { once } from "../text/once.ts";
import { workerSlug } from "../text/slugs.ts";
import { mergeIntoBranch } from "./merge/merge-into-branch.ts";
import { openMergeReportFile } from "./merge/merge-report-file.ts";
import { openCommitChecker, type RunCommitChecks } from "./merge/open-commit-checker.ts";
import { type SummaryAccess, summarizeState } from "./report/summarize-state.ts";
import { writeSwarmReport } from "./report/write-report.ts";
import { settingsOfSwarm } from "./worker/swarm-settings.ts";

/** A request to merge workers' results. */
export interface MergeRequest {
  /** The names of the workers whose results to merge; empty for all workers. */
  readonly workers: readonly string[];
  /** The name of the branch to merge into; null for the swarm's own integration branch. */
  readonly into: string | null;
  readonly check:
    | { readonly kind: "asked"; readonly command: string | null }
    /**
     * Checks each merge with the command in the setting `verify`, or else with the repository's own tests.
     */
    | { readonly kind: "recognised" };
}

type MergeAccess = StateAccess &
  SummaryAccess &
  Pick<Project, "engines" | "git" | "host" | "images" | "settings">;

/**
 * Merges workers' results into a branch, without changing any working tree. Takes ownership of the swarm
 * during the merge.
 */
export async function mergeSwarm(
  project: MergeAccess,
  { workers, into, check }: MergeRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<MergeReport> {
  await using _ownership = await acquireSwarmOwnership(await project.state.owner());
  const state = await requireSwarmState(project);
  const [work, commits] = await Promise.all([project.git.work(), project.git.commits()]);
  const settings = requireTrustedSettings(await project.settings());
  const limits = sandboxLimits(settings);
  const checker = once(() => openMergeChecker(project, { state, limits }, onStep, signal));
  const report = await mergeIntoBranch(
    {
      work,
      commits,
      onStep,
      signal,
      crashPoint: project.host.crashPoint,
      testCommand: async () =>
        check.kind === "recognised" ? recognisedCheck(settings, commits) : check.command,
      async runCheck(commit, command, ending) {
        const [ran] = await (await checker())(commit, [command], ending);
        if (!ran) throw new Error("a check ended without a result");
        return ran;
      },
      looksAhead: fitsTwoChecks(limits),
    },
    {
      swarmId: state.swarmId,
      into,
      isAsked: workers.length > 0,
      records: workers.length === 0 ? state.containers : findWorkersByArguments(state, workers),
    },
  );
  await writeReports(project, report, onStep);
  await removeHomeVolumes(project, state, report, signal);
  return report;
}

async function openMergeChecker(
  project: MergeAccess,
  { state, limits }: { readonly state: SwarmState; readonly limits: ContainerLimits },
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<RunCommitChecks> {
  const [engine, settings, work, commits] = await Promise.all([
    project.engines.started(state.engine?.endpoint ?? null),
    settingsOfSwarm(project, state.swarmId),
    project.git.work(),
    project.git.commits(),
  ]);
  const { runtime } = await findSandboxRuntime(project, engine, settings, signal);
  const image = await ensureImageAtHead(project, [], onStep, signal);
  return openCommitChecker(project, { state, work, commits, engine, runtime, image, limits }, signal);
}

/**
 * Returns the command that checks merged results: the commands in the setting `verify`, otherwise the
 * command of the repository's own tests. Returns null if there are neither.
 */
async function recognisedCheck(
  { verify }: Pick<Settings, "verify">,
  commits: CommitReader,
): Promise<string | null> {
  if (verify.length > 0) return verify.map((command) => `(${command})`).join(" && ");
  const tests = await findTestCommandAtHead(commits);
  return tests.kind === "found" ? tests.command : null;
}

function fitsTwoChecks({ memoryBytes }: ContainerLimits): boolean {
  return availableParallelism() > 1 && 2 * memoryBytes <= totalmem();
}

/**
 * Writes the merge report and the swarm's summary. If this fails, only shows a message, because the merge
 * itself is already complete.
 */
async function writeReports(
  project: StateAccess & SummaryAccess,
  report: MergeReport,
  onStep: (step: string) => void,
): Promise<void> {
  try {
    const { root } = await project.repository();
    await openMergeReportFile(root).write(report);
    await writeSwarmReport(root, await summarizeState(project, await requireSwarmState(project)));
  } catch (error) {
    onStep(`The merge report cannot be written: ${messageOf(error)}`);
  }
}

/**
 * Removes the home volumes of merged workers, because their agents' conversations, which the volumes
 * store, are no longer needed. Ignores expected errors, because `swarm cleanup` can remove the volumes
 * later.
 */
async function removeHomeVolumes(
  project: Pick<Project, "engines" | "repository" | "settings">,
  state: SwarmState,
  { workers }: MergeReport,
  signal: AbortSignal,
): Promise<void> {
  const done = ["merged", "merged before", "unchanged"];
  const slugs = new Set(workers.filter(({ outcome }) => done.includes(outcome)).map(({ worker }) => worker));
  try {
    if (!(await settingsOfSwarm(project, state.swarmId)).prove) return;
    const { volumes } = await (await project.engines.started(state.engine?.endpoint ?? null)).open();
    for (const record of state.containers)
      if (slugs.has(workerSlug(record)))
        await volumes.remove(homeVolumeName(record.containerName), signal).catch(requireExpected);
  } catch (error) {
    requireExpected(error);
  }
}
