import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { StartWords, SwarmOperations, SwarmReport } from "./cli/composition.ts";
import { adapterId } from "./compose-engine.ts";
import { SwarmError } from "./domain/errors.ts";
import type { EngineRef, ProjectRef } from "./domain/generated/swarm-state.ts";
import type { LoadedTask, SwarmPlan } from "./domain/plan.ts";
import type { Settings } from "./domain/settings.ts";
import { findContainer, type SwarmState, withRecord } from "./domain/swarm-state.ts";
import type { Repository } from "./host/find-repository.ts";
import type { UserFolders } from "./host/user-folders.ts";
import type { ImageOperations } from "./image/image-operations.ts";
import type { ContainerLimits } from "./ports/containers.ts";
import type { DocumentParsers } from "./ports/documents.ts";
import type { ContainerEngine } from "./ports/engine.ts";
import type { Lock } from "./ports/lock.ts";
import type { LedgerFile } from "./ports/project-files.ts";
import type { StateStore } from "./ports/state-store.ts";
import type { StateFile } from "./state/state-file.ts";
import type { PlannedWork } from "./swarm/begin-swarm.ts";
import type { EquipDeps } from "./swarm/equip-worker.ts";
import type { LoadTasksDeps } from "./swarm/load-tasks.ts";

export interface ComposeSwarmDeps {
  readonly folders: UserFolders;
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  readonly project: () => Promise<ProjectRef>;
  readonly resolveSettings: () => Promise<Settings>;
  readonly engine: () => Promise<ContainerEngine>;
  readonly images: () => Promise<ImageOperations>;
  readonly limits: () => Promise<ContainerLimits>;
  readonly ownerLock: () => Promise<Lock>;
  readonly stateLock: () => Promise<Lock>;
  readonly stateFile: () => Promise<StateFile>;
  readonly stateStore: () => Promise<StateStore>;
  readonly ledger: () => Promise<LedgerFile>;
  /** The state of this very project; PROJECT_MOVED where it is another's. */
  readonly findState: () => Promise<SwarmState | null>;
  readonly plan: (words: StartWords) => Promise<SwarmPlan>;
  readonly taskDeps: () => Promise<LoadTasksDeps & { readonly parsers: DocumentParsers }>;
}

/** Builds what carries out a swarm. Its parts are loaded when one is started. */
export function composeSwarm(deps: ComposeSwarmDeps): SwarmOperations {
  return {
    async start(words, report) {
      const plan = await deps.plan(words);
      const { loadTasks } = await import("./swarm/load-tasks.ts");
      const { tasks } = await loadTasks(await deps.taskDeps(), {
        ...{ files: words.files, strict: words.strict, settings: await deps.resolveSettings() },
      });
      const works = plan.tasks.flatMap(({ action, file, slug }): PlannedWork[] => {
        const task = tasks.find(({ path }) => path === file);
        return action === "run" && task ? [{ slug, task }] : [];
      });
      report.planned(plan);
      for (const { task } of works) refuseWithoutNetwork(task, await deps.resolveSettings());
      if (works.length === 0) return null;
      // A state of another project's must not be taken for ours.
      refuseWithoutBase(works, await deps.findState());
      return own(works, plan.parallel.workers, report);
    },

    async resume(report) {
      const state = (await deps.findState()) ?? (await (await deps.stateStore()).read());
      const isLeft = state.containers.some(({ status }) => status !== "completed" && status !== "failed");
      if (!isLeft) return state;
      const settings = await deps.resolveSettings();
      return own([], typeof settings.parallel === "number" ? settings.parallel : 4, report);
    },
  };

  async function own(
    works: readonly PlannedWork[],
    parallel: number,
    report: SwarmReport,
  ): Promise<SwarmState> {
    const [{ holdOwnership }, { ownedState }, { beginSwarm, waitingWorkers }, { ownSwarm }] =
      await Promise.all([
        import("./state/ownership.ts"),
        import("./state/owned-state.ts"),
        import("./swarm/begin-swarm.ts"),
        import("./swarm/own-swarm.ts"),
      ]);
    await using ownership = await holdOwnership(await deps.ownerLock());
    const engine = await deps.engine();
    const { id, name, endpoint } = await engine.info(report.signal);
    const found = await findRuntimeOf(engine, report.signal);
    const engineRef: EngineRef = { id, name, endpoint, isolation: found.level };
    const built = await (await deps.images()).build(
      { agents: null, fresh: false, baseOnly: false, ignoreScripts: false, buildNetwork: true },
      { onStep: report.onStep, onEvent: () => {} },
      report.signal,
    );
    if (!built.project) throw new SwarmError("NOT_A_REPOSITORY", { folder: (await deps.repository()).root });
    const state = await beginSwarm(
      {
        store: await deps.stateStore(),
        project: await deps.project(),
        engine: engineRef,
        newId: randomUUID,
        clock: deps.clock,
      },
      works,
    );
    await using owned = ownedState({
      file: await deps.stateFile(),
      lock: await deps.stateLock(),
      clock: deps.clock,
    });
    const equipped = await equip(state, engine, {
      ...{ image: built.project.tag, runtime: found.runtime, report },
      change: async (worker, change) => {
        await owned.update((before) => withRecord(before, change(findContainer(before, worker))));
      },
    });
    const tasks = new Map<string, LoadedTask | null>();
    for (const { taskFilePath } of state.containers) tasks.set(taskFilePath, await loadTask(taskFilePath));
    const workers = waitingWorkers(state, ({ taskFilePath }) => tasks.get(taskFilePath) ?? null);
    return await ownSwarm(equipped, { workers, parallel }, { halt: report.halt, lost: ownership.lost });
  }

  /** Null when its file is gone or broken by now. */
  async function loadTask(path: string): Promise<LoadedTask | null> {
    const { folder, parsers } = await deps.taskDeps();
    try {
      const { fileName, sha256, bytes } = await folder.read(path);
      return { fileName, path, sha256, taskFile: (await parsers.parseTaskFile(bytes, path)).document };
    } catch (error) {
      if (error instanceof SwarmError) return null;
      throw error;
    }
  }

  async function findRuntimeOf(engine: ContainerEngine, signal: AbortSignal) {
    const [{ findRuntime }, { probeCache }, { parseProbe }, { isolation }] = await Promise.all([
      import("./sandbox/find-runtime.ts"),
      import("./host/probe-cache.ts"),
      import("./schema/read-document.ts"),
      deps.resolveSettings(),
    ]);
    const probes = probeCache(join(deps.folders.state, "probes.json"), { parseProbe, clock: deps.clock });
    return findRuntime({ engine, probes, adapterId }, isolation, signal);
  }

  async function equip(
    state: SwarmState,
    engine: ContainerEngine,
    {
      image,
      runtime,
      change,
      report,
    }: Pick<EquipDeps, "image" | "runtime" | "change"> & { readonly report: SwarmReport },
  ): Promise<EquipDeps> {
    const [
      { workerPlaces },
      { realTiming },
      { readArchive },
      { packFiles },
      { findMessageProblem },
      { workRepository },
      { commitReader },
      { gitIn },
    ] = await Promise.all([
      import("./acp/worker-places.ts"),
      import("./acp/timing.ts"),
      import("./archive/read-archive.ts"),
      import("./archive/pack-files.ts"),
      import("./schema/find-message-problem.ts"),
      import("./host/work-repository.ts"),
      import("./host/commit-reader.ts"),
      import("./host/git.ts"),
    ]);
    const { root, gitFolder, commonFolder, worktree } = await deps.repository();
    const { containers, volumes } = await engine.open();
    const { swarmId, project } = state;
    const commits = commitReader(root);
    const imageCommit = await commits.head();
    if (imageCommit === null)
      throw new SwarmError("GIT_FAILED", { command: "rev-parse HEAD", reason: "there is no commit yet" });
    const ledger = await deps.ledger();
    const own = { uid: 0, gid: 0 };
    return {
      ...{
        swarmId,
        projectId: project.id,
        worktree,
        containers,
        volumes,
        image,
        runtime,
        imageCommit,
        commits,
        change,
      },
      limits: await deps.limits(),
      settings: await deps.resolveSettings(),
      author: await gitIn(root).user(),
      work: workRepository({ commonFolder }),
      places: workerPlaces({
        ...{ containers, swarmId, timing: realTiming, findProblem: findMessageProblem },
        readArchive: (archive, limits) => readArchive(archive, { limits }),
        folder: join(root, ".aimi", "swarms", swarmId),
        requestFolder: join(gitFolder, "aimi", "requests", swarmId),
        packFile: (path, from) =>
          packFiles([
            { kind: "folder", path: "in", mode: 0o700, ...own },
            { kind: "file", path, mode: 0o600, ...own, from },
          ]),
        credentials: () => null,
      }),
      read: async () => (await deps.stateStore()).read(),
      readScript: (path) => readScript(join(root, ".aimi"), path),
      async remember({ task }, outcome) {
        await ledger.add([
          { sha256: task.sha256, file: task.fileName, outcome, swarmId, at: deps.clock().toISOString() },
        ]);
      },
      tell: report.tell,
      onMessage: report.onMessage,
      clock: deps.clock,
      signal: report.signal,
    };
  }
}

/** Said before anything starts: these would wait for an answer that cannot come. */
function refuseWithoutNetwork({ path, taskFile }: LoadedTask, settings: Settings): void {
  const kind = taskFile.metadata.agent?.kind ?? settings.agent;
  if (kind === "claude" || kind === "acp") throw new SwarmError("AGENT_NEEDS_NETWORK", { kind, file: path });
}

/** What was carried out in an earlier swarm is a branch by now that anybody may have moved: it is no base to rely on. */
function refuseWithoutBase(works: readonly PlannedWork[], state: SwarmState | null): void {
  const isOpen =
    state?.containers.some(({ status }) => status !== "completed" && status !== "failed") ?? false;
  const open = isOpen ? (state?.containers ?? []).map(({ taskFilePath }) => basename(taskFilePath)) : [];
  const present = new Set([...open, ...works.map(({ task }) => task.fileName)]);
  for (const { task } of works) {
    const missing = task.taskFile.metadata.dependsOn?.find((file) => !present.has(file));
    if (missing !== undefined)
      throw new SwarmError("USAGE", {
        message: `${task.path} starts from the result of ${missing}, which an earlier swarm carried out or nobody asked for: name both, with --again`,
      });
  }
}

/** A script file that really lies in the folder; what it says is checked in the sandbox. */
async function readScript(folder: string, path: string): Promise<object> {
  const file = join(folder, path);
  const { liesInside } = await import("./host/inside.ts");
  try {
    if (!(await liesInside(folder, file))) throw new Error("it lies outside of .aimi");
    return JSON.parse(await readFile(file, "utf8")) as object;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SwarmError("FILE_UNREADABLE", { place: { file: `.aimi/${path}` }, reason }, error);
  }
}
