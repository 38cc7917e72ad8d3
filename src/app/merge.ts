import { availableParallelism, totalmem } from "node:os";
import type { MergeOperations } from "../cli/composition.ts";
import type { MergeReport } from "../contract/merge.ts";
import type { SwarmSummary } from "../contract/summary.ts";
import type { ContainerLimits } from "../engine/containers.ts";
import { SwarmError } from "../errors/errors.ts";
import type { CommitReader } from "../git/commit-reader-port.ts";
import { applyRecordedSettings } from "../settings/rules/recorded-settings.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { homeVolumeName } from "../state/rules/worker-names.ts";
import { once } from "../text/once.ts";
import { workerSlug } from "../text/slugs.ts";
import { openCommitChecker } from "./checker.ts";
import type { OwnerOperationsDeps } from "./owner.ts";
import { ensureImageAtHead, findSandboxRuntime } from "./sandbox-parts.ts";

export interface MergeOperationsDeps
  extends Pick<
    OwnerOperationsDeps,
    | "clock"
    | "engine"
    | "explainAllSettings"
    | "folders"
    | "images"
    | "limits"
    | "ownerLock"
    | "crashPoint"
    | "repository"
  > {
  readonly resolveSettings: () => Promise<Settings>;
  /** Reads the state file of this worktree's swarm; throws STATE_MISSING if there is none. */
  readonly state: () => Promise<SwarmState>;
  readonly summary: () => Promise<SwarmSummary>;
}

/** Creates the operation behind `swarm merge`, which merges the results of a swarm's workers. */
export function createMergeOperations(deps: MergeOperationsDeps): MergeOperations {
  return {
    async merge({ workers, into, check }, onStep, signal) {
      const [{ acquireSwarmOwnership }, { mergeSwarm }, { workRepository }, { createCommitReader }] =
        await Promise.all([
          import("../state/acquire-ownership.ts"),
          import("../swarm/merge/merge-swarm.ts"),
          import("../git/work-repository.ts"),
          import("../git/commit-reader.ts"),
        ]);
      await using _ownership = await acquireSwarmOwnership(await deps.ownerLock());
      const state = await deps.state();
      const { root, commonFolder } = await deps.repository();
      const work = workRepository({ commonFolder });
      const commits = createCommitReader(root);
      const checker = once(async () => {
        const [engine, settings] = await Promise.all([
          deps.engine(state.engine?.endpoint ?? null),
          settingsOfSwarm(deps, state.swarmId),
        ]);
        const { runtime } = await findSandboxRuntime(deps, engine, settings, signal);
        const image = await ensureImageAtHead(deps, [], onStep, signal);
        return openCommitChecker(deps, { state, work, commits, engine, runtime, image }, signal);
      });
      const report = await mergeSwarm(
        {
          ...{ work, commits, onStep, signal, crashPoint: deps.crashPoint },
          testCommand: async () =>
            check.kind === "recognised" ? recognisedCheck(deps, commits) : check.command,
          async runCheck(commit, command, ending) {
            const [ran] = await (await checker())(commit, [command], ending);
            if (!ran) throw new Error("a check ended without a result");
            return ran;
          },
          looksAhead: fitsTwoChecks(await deps.limits()),
        },
        {
          ...{ swarmId: state.swarmId, into, isAsked: workers.length > 0 },
          records: workers.length === 0 ? state.containers : findWorkersByArguments(state, workers),
        },
      );
      await writeReports(report, onStep);
      await removeHomeVolumes(state, report, signal);
      return report;
    },
  };

  /**
   * Removes the home volumes of merged workers, because their agents' conversations, which the volumes
   * store, are no longer needed. Ignores expected errors, because `swarm cleanup` can remove the volumes
   * later.
   */
  async function removeHomeVolumes(
    state: SwarmState,
    { workers }: MergeReport,
    signal: AbortSignal,
  ): Promise<void> {
    const done = ["merged", "merged before", "unchanged"];
    const slugs = new Set(
      workers.filter(({ outcome }) => done.includes(outcome)).map(({ worker }) => worker),
    );
    const forgive = (error: unknown): void => {
      if (!(error instanceof SwarmError)) throw error;
    };
    const drop = async (): Promise<void> => {
      if (!(await settingsOfSwarm(deps, state.swarmId)).prove) return;
      const { volumes } = await (await deps.engine(state.engine?.endpoint ?? null)).open();
      for (const record of state.containers)
        if (slugs.has(workerSlug(record)))
          await volumes.remove(homeVolumeName(record.containerName), signal).catch(forgive);
    };
    await drop().catch(forgive);
  }

  /**
   * Writes the merge report and the swarm's summary. If this fails, only shows a message, because the merge
   * itself is already complete.
   */
  async function writeReports(report: MergeReport, onStep: (step: string) => void): Promise<void> {
    const [{ openMergeReportFile }, { writeSwarmReport }] = await Promise.all([
      import("../swarm/merge/merge-report-file.ts"),
      import("../swarm/report/write-report.ts"),
    ]);
    try {
      const { root } = await deps.repository();
      await openMergeReportFile(root, async () => true).write(report);
      await writeSwarmReport(root, await deps.summary());
    } catch (error) {
      onStep(`The merge report cannot be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/**
 * Returns the command that checks merged results: the commands in the setting `verify`, otherwise the
 * command of the repository's own tests. Returns null if there are neither.
 */
async function recognisedCheck(
  { resolveSettings }: MergeOperationsDeps,
  commits: CommitReader,
): Promise<string | null> {
  const { verify } = await resolveSettings();
  if (verify.length > 0) return verify.map((command) => `(${command})`).join(" && ");
  const { findTestCommand } = await import("../tasks/find-test-command.ts");
  const tests = await findTestCommand(commits);
  return tests.kind === "found" ? tests.command : null;
}

/**
 * Returns the settings with which the swarm was started, except those that the flags of the current command
 * override.
 */
async function settingsOfSwarm(
  { explainAllSettings, repository }: MergeOperationsDeps,
  swarmId: string,
): Promise<Settings> {
  const { openTaskRequestStore } = await import("../swarm/worker/task-request-store.ts");
  const { gitFolder } = await repository();
  const { settings } = await explainAllSettings();
  return applyRecordedSettings(settings, await openTaskRequestStore(gitFolder, swarmId).findSettings());
}

function fitsTwoChecks({ memoryBytes }: ContainerLimits): boolean {
  return availableParallelism() > 1 && 2 * memoryBytes <= totalmem();
}
