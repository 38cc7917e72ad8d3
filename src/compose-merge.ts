import { availableParallelism, totalmem } from "node:os";
import type { MergeOperations } from "./cli/composition.ts";
import type { ComposeOwnerDeps } from "./compose-owner.ts";
import { projectImage, runtimeFor } from "./compose-sandbox-parts.ts";
import { chooseWorkers } from "./domain/choose-workers.ts";
import type { MergeReport, RanCheck } from "./domain/generated/merge.ts";
import type { SwarmSummary } from "./domain/generated/summary.ts";
import { once } from "./domain/once.ts";
import { withRecorded } from "./domain/recorded-settings.ts";
import type { Settings } from "./domain/settings.ts";
import type { SwarmState } from "./domain/swarm-state.ts";
import { checkContainerName } from "./domain/worker-names.ts";
import type { CommitReader } from "./ports/commit-reader.ts";
import type { ContainerLimits } from "./ports/containers.ts";
import { labels } from "./ports/engine.ts";
import type { WorkRepository } from "./ports/work-repository.ts";

export interface ComposeMergeDeps
  extends Pick<
    ComposeOwnerDeps,
    | "clock"
    | "engine"
    | "explainAllSettings"
    | "folders"
    | "images"
    | "limits"
    | "ownerLock"
    | "passes"
    | "repository"
  > {
  readonly resolveSettings: () => Promise<Settings>;
  /** The state of this very project; STATE_MISSING where there is none. */
  readonly state: () => Promise<SwarmState>;
  readonly summary: () => Promise<SwarmSummary>;
}

/** Longer than any run of tests that a person would wait for. */
const checkLimitMs = 60 * 60_000;

/** Builds what brings the results of a swarm together. */
export function composeMerge(deps: ComposeMergeDeps): MergeOperations {
  return {
    async merge({ workers, into, check }, onStep, signal) {
      const [{ holdOwnership }, { mergeSwarm }, { workRepository }, { commitReader }] = await Promise.all([
        import("./state/ownership.ts"),
        import("./swarm/merge-swarm.ts"),
        import("./host/work-repository.ts"),
        import("./host/commit-reader.ts"),
      ]);
      await using _ownership = await holdOwnership(await deps.ownerLock());
      const state = await deps.state();
      const { root, commonFolder } = await deps.repository();
      const work = workRepository({ commonFolder });
      const commits = commitReader(root);
      const checker = once(() => openChecker(deps, { state, work, commits, onStep }, signal));
      const report = await mergeSwarm(
        {
          ...{ work, commits, onStep, signal, passes: deps.passes },
          testCommand: async () =>
            check.kind === "recognised" ? recognisedCheck(deps, commits) : check.command,
          runCheck: async (commit, command, ending) => (await checker())(commit, command, ending),
          looksAhead: hasRoomForTwo(await deps.limits()),
        },
        {
          ...{ swarmId: state.swarmId, into },
          records: workers.length === 0 ? state.containers : chooseWorkers(state, workers),
        },
      );
      await writeDown(report, onStep);
      return report;
    },
  };

  /** For summaries, and into the report. Whatever is wrong with these, the branch is there. */
  async function writeDown(report: MergeReport, onStep: (step: string) => void): Promise<void> {
    const [{ mergeFile }, { writeReport }] = await Promise.all([
      import("./host/merge-file.ts"),
      import("./host/write-report.ts"),
    ]);
    try {
      const { root } = await deps.repository();
      await mergeFile(root, async () => true).write(report);
      await writeReport(root, await deps.summary());
    } catch (error) {
      onStep(`The report cannot be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** What the settings have every story checked with, else how the repository tests itself. */
async function recognisedCheck(
  { resolveSettings }: ComposeMergeDeps,
  commits: CommitReader,
): Promise<string | null> {
  const { verify } = await resolveSettings();
  if (verify.length > 0) return verify.map((command) => `(${command})`).join(" && ");
  const { findTests } = await import("./swarm/find-tests.ts");
  const tests = await findTests(commits);
  return tests.kind === "found" ? tests.command : null;
}

/** Gets ready to check commits, each in a sandbox of its own. */
async function openChecker(
  deps: ComposeMergeDeps,
  {
    state,
    work,
    commits,
    onStep,
  }: {
    readonly state: SwarmState;
    readonly work: WorkRepository;
    readonly commits: CommitReader;
    readonly onStep: (step: string) => void;
  },
  signal: AbortSignal,
): Promise<(commit: string, command: string, signal: AbortSignal) => Promise<RanCheck>> {
  const [{ checkCommit }, engine, imageCommit] = await Promise.all([
    import("./sandbox/check-commit.ts"),
    deps.engine(state.engine?.endpoint ?? null),
    commits.head(),
  ]);
  const { swarmId, project } = state;
  const { worktree, gitFolder } = await deps.repository();
  const { requestFiles } = await import("./acp/request-files.ts");
  // What the swarm was begun with holds for what it made, unless a flag says otherwise now.
  const { settings } = await deps.explainAllSettings();
  const held = withRecorded(settings, await requestFiles(gitFolder, swarmId).findSettings());
  const { runtime } = await runtimeFor(deps, engine, held, signal);
  const image = await projectImage(deps, [], onStep, signal);
  const { containers } = await engine.open();
  const run = {
    ...{ containers, commits, image, runtime, limits: await deps.limits() },
    isInImage: async (commit: string) => imageCommit !== null && work.isAncestor(commit, imageCommit),
    imageCommit,
    labels: {
      ...{ [labels.sandbox]: "true", [labels.project]: project.id, [labels.worktree]: worktree },
      ...{ [labels.swarm]: swarmId, [labels.role]: "check" },
    },
    onRunning: () => deps.passes("mid-merge-check"),
  };
  const taken = new Set<number>();
  return async (commit, command, ending) => {
    let place = 1;
    while (taken.has(place)) place += 1;
    taken.add(place);
    const name = checkContainerName({ projectId: project.id, swarmId, place });
    try {
      return await checkCommit(run, { name, commit, command, limitMs: checkLimitMs }, ending);
    } finally {
      taken.delete(place);
    }
  };
}

function hasRoomForTwo({ memoryBytes }: ContainerLimits): boolean {
  return availableParallelism() > 1 && 2 * memoryBytes <= totalmem();
}
