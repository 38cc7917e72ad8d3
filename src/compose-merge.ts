import { availableParallelism, totalmem } from "node:os";
import type { MergeOperations } from "./cli/composition.ts";
import { openCommitChecker } from "./compose-checker.ts";
import type { OwnerOperationsDeps } from "./compose-owner.ts";
import { ensureImageAtHead, findSandboxRuntime } from "./compose-sandbox-parts.ts";
import { findWorkersByArguments } from "./domain/choose-workers.ts";
import { SwarmError } from "./domain/errors.ts";
import type { MergeReport } from "./domain/generated/merge.ts";
import type { SwarmSummary } from "./domain/generated/summary.ts";
import { once } from "./domain/once.ts";
import { applyRecordedSettings } from "./domain/recorded-settings.ts";
import type { Settings } from "./domain/settings.ts";
import { workerSlug } from "./domain/slug.ts";
import type { SwarmState } from "./domain/swarm-state.ts";
import { homeVolumeName } from "./domain/worker-names.ts";
import type { CommitReader } from "./ports/commit-reader.ts";
import type { ContainerLimits } from "./ports/containers.ts";

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
          import("./state/ownership.ts"),
          import("./swarm/merge-swarm.ts"),
          import("./host/work-repository.ts"),
          import("./host/commit-reader.ts"),
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
      import("./host/merge-file.ts"),
      import("./host/write-report.ts"),
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
  const { findTestCommand } = await import("./swarm/find-tests.ts");
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
  const { openTaskRequestStore } = await import("./acp/request-files.ts");
  const { gitFolder } = await repository();
  const { settings } = await explainAllSettings();
  return applyRecordedSettings(settings, await openTaskRequestStore(gitFolder, swarmId).findSettings());
}

function fitsTwoChecks({ memoryBytes }: ContainerLimits): boolean {
  return availableParallelism() > 1 && 2 * memoryBytes <= totalmem();
}
