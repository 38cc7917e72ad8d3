import { join } from "node:path";
import type { CleanupRequest, StatusAndCleanupOperations } from "../cli/composition.ts";
import type { ProjectRef } from "../contract/swarm-state.ts";
import type { ContainerEngine, EngineWorktreeScope } from "../engine/engine.ts";
import type { PrivateEngine } from "../engine/private-engine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { ImageOperations } from "../images/image-operations.ts";
import type { Lock } from "../machine/lock.ts";
import type { UserFolders } from "../machine/user-folders.ts";
import type { ReadHostJournal } from "../state/compare-state-with-engine.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { StateFile } from "../state/state-file.ts";
import type { StateStore } from "../state/state-store-port.ts";
import type { CleanUpDeps } from "../swarm/cleanup/clean-up.ts";
import type { ClearMachineDeps } from "../swarm/cleanup/clear-machine.ts";

export interface StatusAndCleanupDeps {
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  readonly project: () => Promise<ProjectRef>;
  readonly ownerLock: () => Promise<Lock>;
  readonly stateFile: () => Promise<StateFile>;
  readonly stateStore: () => Promise<StateStore>;
  /**
   * Reads the state file of this worktree's swarm; returns null if there is none. Throws PROJECT_MOVED if
   * the file belongs to another project.
   */
  readonly findState: () => Promise<SwarmState | null>;
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
  readonly readJournal: ReadHostJournal;
  readonly folders: UserFolders;
  readonly privateEngine: () => Promise<PrivateEngine>;
  readonly openEngine: () => Promise<(endpoint: string) => ContainerEngine>;
  readonly images: () => Promise<ImageOperations>;
}

/** Creates the operations that show a swarm's status, wait for changes, and clean up. */
export function createStatusAndCleanupOperations(deps: StatusAndCleanupDeps): StatusAndCleanupOperations {
  const scope = async (): Promise<EngineWorktreeScope> => ({
    projectId: (await deps.project()).id,
    worktree: (await deps.repository()).worktree,
  });

  const hold = async (): Promise<AsyncDisposable> => {
    const { acquireSwarmOwnership } = await import("../state/acquire-ownership.ts");
    return acquireSwarmOwnership(await deps.ownerLock());
  };

  return {
    async status() {
      if ((await deps.findState()) === null) return null;
      const { readSwarmStatus } = await import("../swarm/read-swarm-status.ts");
      const { findEngine, readJournal, clock } = deps;
      const store = await deps.stateStore();
      return readSwarmStatus(
        { store, owner: await deps.ownerLock(), findEngine, readJournal, hold, clock },
        scope,
      );
    },

    async recordedStatus() {
      const swarm = await deps.findState();
      return swarm && { swarm, owner: await (await deps.ownerLock()).holder() };
    },

    async taskDependencies() {
      const [{ readDependsOn }, { root }] = await Promise.all([
        import("../schema/read-depends-on.ts"),
        deps.repository(),
      ]);
      return ({ taskFilePath }) => readDependsOn(join(root, taskFilePath));
    },

    async watchState(onChange, signal) {
      const { watchState } = await import("../state/watch-state.ts");
      watchState((await deps.stateFile()).paths.stateFile, onChange, signal);
    },

    async cleanup(request, onStep, signal) {
      await using _held = request.dryRun ? null : await hold();
      const { cleanUpContainersAndVolumes } = await import("../swarm/cleanup/clean-up.ts");
      const state = await deps.findState();
      const { workers, all, discard, everything, dryRun } = request;
      const only = workers.length === 0 ? null : namesOf(state, workers);
      const engine = await engineFor(state, request);
      const options = { state, only, discard, dryRun, withFiles: all || everything, scope: await scope() };
      const done = await cleanUpContainersAndVolumes(await cleanUpDeps(engine), options, onStep, signal);
      if (!everything) return done;
      const countRemoved = (kind: string): number =>
        dryRun ? done.removed.filter((thing) => thing.kind === kind).length : 0;
      const { clearMachine } = await import("../swarm/cleanup/clear-machine.ts");
      const cleared = await clearMachine(
        await clearMachineDeps(engine, signal),
        {
          dryRun,
          removedBefore: {
            ...{ endpoint: engine?.endpoint ?? null },
            ...{ containers: countRemoved("container"), volumes: countRemoved("volume") },
          },
        },
        onStep,
      );
      return {
        ...done,
        removed: [...done.removed, ...cleared.removed],
        kept: [...done.kept, ...cleared.kept],
      };
    },
  };

  function namesOf(state: SwarmState | null, workers: readonly string[]): string[] {
    if (!state) throw new SwarmError("STATE_MISSING", { file: ".aimi/swarm-state.json" });
    return findWorkersByArguments(state, workers).map(({ containerName }) => containerName);
  }

  /**
   * Returns the engine in which `swarm cleanup` removes containers and volumes. Throws if the engine cannot
   * be reached.
   *
   * With `everything`, swarm's private engine is treated differently:
   * - If the engine's data is gone, returns null.
   * - If the engine is stopped, starts the engine, except with `dryRun`.
   */
  async function engineFor(
    state: SwarmState | null,
    { everything, dryRun }: CleanupRequest,
  ): Promise<ContainerEngine | null> {
    const recorded = state?.engine?.endpoint ?? null;
    const engine = await deps.findEngine(recorded);
    const unreachable = await whyUnreachable(engine);
    if (unreachable === null) return engine;
    if (!everything) throw unreachable;
    const own = await deps.privateEngine();
    const { endpoint } = await own.status();
    if (recorded !== null && recorded !== endpoint) throw unreachable;
    const { openStateFolder } = await import("../swarm/cleanup/state-folder.ts");
    if (!(await openStateFolder(deps.folders.state).hasEngine())) return null;
    if (dryRun) throw unreachable;
    await own.start({ mayInstall: false, reset: false, onStep: () => {} });
    return (await deps.openEngine())(endpoint);
  }

  async function whyUnreachable(engine: ContainerEngine | null): Promise<SwarmError | null> {
    try {
      if (!engine) throw new SwarmError("ENGINE_UNREACHABLE", { tried: [] });
      await engine.info();
      return null;
    } catch (error) {
      if (isError(error, "ENGINE_UNREACHABLE")) return error;
      throw error;
    }
  }

  async function cleanUpDeps(engine: ContainerEngine | null): Promise<CleanUpDeps> {
    const [{ summarizeAttemptJournal }, { workRepository }, { openSwarmFiles }, repository] =
      await Promise.all([
        import("../protocol/host-journal.ts"),
        import("../git/work-repository.ts"),
        import("../swarm/cleanup/swarm-files.ts"),
        deps.repository(),
      ]);
    return {
      ...{ store: await deps.stateStore(), engine, clock: deps.clock, files: openSwarmFiles(repository) },
      readAttempt: ({ swarmId, slug, attempt }) =>
        summarizeAttemptJournal(join(repository.root, ".aimi", "swarms", swarmId, slug), attempt),
      work: workRepository({ commonFolder: repository.commonFolder }),
    };
  }

  async function clearMachineDeps(
    engine: ContainerEngine | null,
    signal: AbortSignal,
  ): Promise<ClearMachineDeps> {
    const [{ openStateFolder }, { countContainersAndVolumes }] = await Promise.all([
      import("../swarm/cleanup/state-folder.ts"),
      import("../engine/docker/count-engine-content.ts"),
    ]);
    return {
      privateEngine: await deps.privateEngine(),
      stateFolder: openStateFolder(deps.folders.state),
      contentOf: (endpoint) => countContainersAndVolumes(endpoint, signal),
      async pruneImages(dryRun) {
        if (!engine) return [];
        const pruned = await (await deps.images()).prune({ all: false, own: true, dryRun }, signal);
        return pruned.map(({ id, tags }) => tags.join(" ") || id);
      },
    };
  }
}
