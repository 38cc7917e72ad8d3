import { randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import type { CommandOperations, SwarmOperations, WatchOperations } from "../cli/composition.ts";
import type { ProjectRef } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { findRepository, type Repository } from "../git/find-repository.ts";
import { type CrashHook, noCrashHook } from "../machine/crash-points.ts";
import type { Lock } from "../machine/lock.ts";
import { type EnvironmentVariables, userFolders } from "../machine/user-folders.ts";
import type { DocumentParsers } from "../settings/located-document.ts";
import { type SettingsFile, settingsWithoutOrigins } from "../settings/rules/settings.ts";
import type { ChangeStateDeps } from "../state/change-state.ts";
import type { CheckedState, ReadHostJournal } from "../state/compare-state-with-engine.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { StateFile } from "../state/state-file.ts";
import { nullIfStateInvalid, type StateStore } from "../state/state-store-port.ts";
import type { LoadTasksDeps } from "../tasks/load-tasks.ts";
import type { FileToTrust } from "../tasks/trust-files.ts";
import { once } from "../text/once.ts";
import { slugOfTaskFile, workerSlug } from "../text/slugs.ts";
import { createEngineAccess, createEngineSearch } from "./engine.ts";
import { createLockFactory } from "./locks.ts";
import { createMergeOperations } from "./merge.ts";
import { createPluginOperations } from "./plugin.ts";
import { createPlanCapacityReader } from "./room.ts";
import { createSandboxAndImageOperations } from "./sandboxes.ts";
import { createScheduleOperations } from "./schedule.ts";
import { createSettingsAccess } from "./settings.ts";
import { createSwarmOperations } from "./swarm.ts";
import { createTaskFileOperations } from "./tasks.ts";
import { createStatusAndCleanupOperations } from "./upkeep.ts";
import { createWatchOperations } from "./watch.ts";

export interface ComposeOptions {
  readonly env: EnvironmentVariables;
  readonly folder: string;
  /** The command line of this process. Other processes show it to name the holder of a lock. */
  readonly command: string;
  readonly flags: SettingsFile;
  /** Called at each crash point, which is a place in the program where a test may kill the process. */
  readonly crashPoint?: CrashHook;
  readonly clock?: () => Date;
}

/** Creates all operations of the command line. Large modules are loaded when a command first needs them. */
export function compose({
  env,
  folder,
  command,
  flags,
  crashPoint = noCrashHook,
  clock = () => new Date(),
}: ComposeOptions): CommandOperations {
  const folders = userFolders(env);

  const repository = once(async () => {
    const found = await findRepository(folder);
    if (!found) throw new SwarmError("NOT_A_REPOSITORY", { folder });
    return found;
  });

  const { lockKind, lockAt, gateAt } = createLockFactory({ env, command });

  const ownerLock = async (): Promise<Lock> =>
    lockAt(join((await repository()).gitFolder, "aimi", "owner.lock"));

  const stateFile = once(async (): Promise<StateFile> => {
    const { root, gitFolder } = await repository();
    const [{ stateFile: fileAt }, { parseState }, { resolveSwarmFile }] = await Promise.all([
      import("../state/state-file.ts"),
      import("./read-document.ts"),
      import("../machine/path-containment.ts"),
    ]);
    const places = {
      stateFile: await resolveSwarmFile(root, "swarm-state.json"),
      copyFile: join(gitFolder, "aimi", "swarm-state.json"),
      archiveFolder: join(root, ".aimi", "swarms"),
    };
    return fileAt(places, parseState);
  });

  const bareStateLock = lazyLock(async () =>
    lockAt(join((await repository()).gitFolder, "aimi", "state.lock")),
  );

  const fencedStateLock = once(async (): Promise<Lock> => {
    const { fencedLock } = await import("../state/fenced-lock.ts");
    return fencedLock(bareStateLock, await stateFile());
  });

  /** The owner's lock on the state file. A kernel lock needs no fencing, because no process can break it. */
  const ownerStateLock = async (): Promise<Lock> =>
    lockKind() === "kernel" ? bareStateLock : fencedStateLock();

  const stateStore = once(async (): Promise<StateStore> => {
    const [{ stateStore: storeOf }, file, lock] = await Promise.all([
      import("../state/state-store.ts"),
      stateFile(),
      fencedStateLock(),
    ]);
    return storeOf({ file, lock, clock });
  });

  const identityDeps = async (): Promise<{ commonFolder: string; machine: string }> => {
    const { machineId } = await import("../engine/read-machine.ts");
    return { commonFolder: (await repository()).commonFolder, machine: await machineId(folders.state) };
  };

  const project = once(async (): Promise<ProjectRef> => {
    const { readOrCreateProjectIdentity } = await import("../state/project-identity.ts");
    const { id } = await readOrCreateProjectIdentity(await identityDeps());
    return refOf(await repository(), id);
  });

  const taskDeps = async (): Promise<LoadTasksDeps & { parsers: DocumentParsers }> => {
    const { root } = await repository();
    const [{ openTaskFolder }, parsers, { openTrustFile }, { createGit }] = await Promise.all([
      import("../tasks/task-folder.ts"),
      import("./read-document.ts"),
      import("../settings/trust-file.ts"),
      import("../git/git.ts"),
    ]);
    return {
      folder: openTaskFolder(root),
      parsers,
      trust: openTrustFile(folders.state, await lockAt(join(folders.state, "trust.lock"))),
      git: createGit(root),
    };
  };

  const ledger = async () => {
    const { ledgerFile } = await import("../tasks/ledger-file.ts");
    return ledgerFile(join((await repository()).gitFolder, "aimi", "ledger.ndjson"));
  };

  const { settingsDeps, explainAllSettings, resolveSettings, userSettings } = createSettingsAccess({
    ...{ env, folder, folders, flags, lockAt },
  });

  const { privateEngine, openEngine } = createEngineAccess({
    ...{ env, stateFolder: folders.state, lockAt, gateAt },
  });
  const { engineDeps, findAny, findEngine, engineOrOwn } = createEngineSearch({
    ...{ env, privateEngine, openEngine, explainAllSettings, home: folders.home },
  });

  const {
    sandboxes,
    images,
    limits: sandboxLimits,
  } = createSandboxAndImageOperations({
    ...{ env, folder, folders, lockAt, clock, resolveSettings, openEngine },
    engine: findAny,
    knownEndpoints: async () => (await (await engineDeps()).candidates()).map(({ endpoint }) => endpoint),
    repository,
    project,
  });

  const readJournal: ReadHostJournal = async (swarmId, worker) => {
    const { summarizeHostJournal } = await import("../protocol/host-journal.ts");
    return summarizeHostJournal(
      join((await repository()).root, ".aimi", "swarms", swarmId, workerSlug(worker)),
    );
  };

  const checkState = async (): Promise<CheckedState> => {
    const { compareStateWithEngine: check } = await import("../state/compare-state-with-engine.ts");
    const scope = { projectId: (await project()).id, worktree: (await repository()).worktree };
    return check({ store: await stateStore(), owner: await ownerLock(), findEngine, readJournal }, scope);
  };

  /** Reads the swarm's state file, or returns null. Throws PROJECT_MOVED if it belongs to another project. */
  const findState = async (): Promise<SwarmState | null> => {
    const { hasProjectIdentity } = await import("../state/project-identity.ts");
    const state = await (await stateStore()).find();
    if (!(await hasProjectIdentity((await repository()).commonFolder))) {
      if (state === null) return null;
      // The state file came with the repository, so the engine, workers and texts in it are not this user's.
      throw new SwarmError("PROJECT_MOVED", {
        was: `project ${state.project.id}`,
        is: "a folder in which swarm has stored no project id",
      });
    }
    const { id } = await project();
    if (state && state.project.id !== id) {
      throw new SwarmError("PROJECT_MOVED", { was: `project ${state.project.id}`, is: `project ${id}` });
    }
    // If there is no state file, asks the engine: containers of this project may still exist.
    return state ?? (await checkState()).state;
  };

  const changeDeps = async (): Promise<ChangeStateDeps> => {
    await project();
    return {
      store: await stateStore(),
      owner: await ownerLock(),
      ledger: await ledger(),
      folder: (await taskDeps()).folder,
      clock,
    };
  };

  const swarm = (): SwarmOperations =>
    createSwarmOperations({
      ...{ env, folders, clock, repository, project, resolveSettings, images, ownerLock, taskDeps },
      ...{ ownerStateLock, stateFile, stateStore, ledger, findState, crashPoint, explainAllSettings },
      engine: engineOrOwn,
      limits: sandboxLimits,
      plan: (words) => plan(words),
    });

  const watch = (): WatchOperations =>
    createWatchOperations({
      ...{ env, repository, findState, clock, taskDeps, ownerLock, stateFile, stateStore, findEngine },
    });

  const plan: CommandOperations["plan"] = async ({ files, again, strict }) => {
    const [{ makePlan }, { createGit }] = await Promise.all([
      import("../tasks/make-plan.ts"),
      import("../git/git.ts"),
    ]);
    const { root } = await repository();
    const deps = {
      ...(await taskDeps()),
      ledger: await ledger(),
      git: createGit(root),
      hostCapacity: createPlanCapacityReader({ repository, project, findEngine }),
      env,
    };
    return makePlan(deps, { files, again, strict, settings: await resolveSettings() });
  };

  return {
    plan,
    swarm,
    upkeep: () =>
      createStatusAndCleanupOperations({
        ...{ clock, repository, project, ownerLock, stateFile, stateStore, findState, findEngine },
        ...{ readJournal, folders, privateEngine, openEngine, images },
      }),
    merging: () =>
      createMergeOperations({
        ...{ clock, explainAllSettings, folders, images, ownerLock, crashPoint, repository, resolveSettings },
        ...{ engine: engineOrOwn, limits: sandboxLimits },
        state: async () => (await findState()) ?? (await stateStore()).read(),
        summary: () => watch().summary(),
      }),
    schedule: () => createScheduleOperations({ env, repository, project }),
    watch,

    async explainSettings() {
      return (await explainAllSettings()).settings;
    },

    ...createTaskFileOperations({ clock, repository, resolveSettings, taskDeps, ledger }),

    findFilesToTrust: filesToTrust,

    async trust(files) {
      const { trustFiles } = await import("../tasks/trust-files.ts");
      await trustFiles(await trustDeps(), files);
    },

    findState,
    checkState,

    async initState({ force }) {
      const { initState } = await import("../state/change-state.ts");
      if (!force) await findState();
      return initState(await changeDeps(), { project: await project(), swarmId: randomUUID(), force });
    },

    async addContainer(container) {
      const { addWorkerRecord } = await import("../state/change-state.ts");
      await findState();
      return addWorkerRecord(await changeDeps(), container);
    },

    async updateContainer(name, change) {
      const { updateWorkerRecord } = await import("../state/change-state.ts");
      await findState();
      return updateWorkerRecord(await changeDeps(), name, change);
    },

    async removeContainer(name) {
      const { removeWorkerRecord } = await import("../state/change-state.ts");
      await findState();
      await removeWorkerRecord(await changeDeps(), name);
    },

    async cleanupState() {
      const { removeEndedWorkerRecords } = await import("../state/change-state.ts");
      await findState();
      return removeEndedWorkerRecords(await changeDeps());
    },

    async repairState(rebound) {
      const { repairState } = await import("../state/repair-state.ts");
      const { folder: tasks, parsers } = await taskDeps();
      const branchOf = async (path: string): Promise<string | null> => {
        try {
          const { bytes } = await tasks.read(path);
          return (await parsers.parseTaskFile(bytes, path)).document.metadata.branchName;
        } catch (error) {
          if (error instanceof SwarmError) return null;
          throw error;
        }
      };
      const deps = {
        store: await stateStore(),
        owner: await ownerLock(),
        findEngine,
        readJournal,
        branchOf,
        project,
        rebind: async (kind: "moved" | "copied") => {
          const { rebindProjectIdentity } = await import("../state/project-identity.ts");
          const known = await (await stateStore()).find().catch(nullIfStateInvalid);
          await rebindProjectIdentity(await identityDeps(), kind, known?.project.id);
        },
        newId: randomUUID,
        clock,
      };
      return repairState(deps, { worktree: (await repository()).worktree, rebound });
    },

    async doctor(onStep, signal) {
      const [{ diagnoseSetup }, { createGit }, machine, credentials, plugin] = await Promise.all([
        import("../doctor/diagnose-setup.ts"),
        import("../git/git.ts"),
        import("../engine/read-machine.ts"),
        import("../secrets/credentials.ts"),
        import("../claude-code/test-plugin-hook.ts"),
      ]);
      const found = await findRepository(folder);
      const settings = await explainAllSettings().then(
        ({ settings: explained }) => settingsWithoutOrigins(explained),
        ifForeseen,
      );
      const deps = {
        ...(await engineDeps({ tolerant: true })),
        settingsProblem: settings instanceof SwarmError ? settings : null,
        programs32Bit: !(settings instanceof SwarmError) && settings["limits.programs32Bit"],
        nodeVersion: process.version,
        gitVersion: () => createGit(folder).version(),
        machine: await machine.readMachineFacts(),
        freeBytes: machine.freeBytes,
        credentials: () => credentials.findCredentialNames(env, folders),
        installedHook: () => plugin.testInstalledPluginHook(folders.home, folder),
        project: async () => (found ? diagnosedProject(found.root) : null),
        onStep,
      };
      return diagnoseSetup(deps, signal);
    },

    plugin: () => createPluginOperations({ folder, folders, lockAt }),
    engine: privateEngine,
    sandboxes,
    images,
  };

  async function diagnosedProject(root: string) {
    const { id } = await project();
    const { worktree } = await repository();
    return {
      root,
      id,
      worktree,
      findState: async () => (await stateStore()).find(),
      untrustedFiles: async () =>
        (await filesToTrust()).filter(({ trusted }) => !trusted).map(({ path }) => path),
      countTasks: async () => {
        const { loadTasks } = await import("../tasks/load-tasks.ts");
        const settings = settingsWithoutOrigins((await explainAllSettings()).settings);
        // Counts tasks as if the user trusted them: `doctor` reports trust separately.
        const deps = { ...(await taskDeps()), trust: { isTrusted: async () => true } };
        return (await loadTasks(deps, { files: [], settings, strict: false })).tasks.length;
      },
    };
  }

  async function filesToTrust(): Promise<FileToTrust[]> {
    const { findFilesToTrust } = await import("../tasks/trust-files.ts");
    const effective = settingsWithoutOrigins((await explainAllSettings()).settings);
    return findFilesToTrust(await trustDeps(), { user: await userSettings(), effective });
  }

  async function trustDeps() {
    const [deps, { openTrustFile }, { readProject }] = await Promise.all([
      taskDeps(),
      import("../settings/trust-file.ts"),
      settingsDeps(),
    ]);
    return {
      ...deps,
      trust: openTrustFile(folders.state, await lockAt(join(folders.state, "trust.lock"))),
      readProject,
    };
  }
}

function refOf({ root }: Repository, id: string): ProjectRef {
  return { id, slug: slugOfTaskFile(basename(root)), root };
}

function ifForeseen(error: unknown): SwarmError {
  if (error instanceof SwarmError) return error;
  throw error;
}

/** Returns a lock whose implementation loads at its first use, because most commands never take the lock. */
function lazyLock(open: () => Promise<Lock>): Lock {
  const lock = once(open);
  return {
    acquire: async (waitMs, signal) => (await lock()).acquire(waitMs, signal),
    holder: async () => (await lock()).holder(),
  };
}
