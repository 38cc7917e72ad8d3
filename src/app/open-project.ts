import { join } from "node:path";
import { createCommitReader } from "../git/commit-reader.ts";
import { findRepository, requireRepository } from "../git/find-repository.ts";
import { createGit } from "../git/git.ts";
import { workRepository } from "../git/work-repository.ts";
import { openImages } from "../images/open-images.ts";
import { type CrashHook, noCrashHook } from "../machine/crash-points.ts";
import { openLocks } from "../machine/locks/open-locks.ts";
import { resolveSwarmFile } from "../machine/path-containment.ts";
import { type EnvironmentVariables, userFolders } from "../machine/user-folders.ts";
import type { Project } from "../project/project.ts";
import { type FlagSettings, readSettings } from "../settings/read-settings.ts";
import { openTrustFile } from "../settings/trust-file.ts";
import { fencedLock, ownerStateLock } from "../state/fenced-lock.ts";
import { openOwnerState } from "../state/owner-state.ts";
import { readProjectRef } from "../state/project-identity.ts";
import { stateFile } from "../state/state-file.ts";
import { stateStore } from "../state/state-store.ts";
import { ledgerFile } from "../tasks/ledger-file.ts";
import { openTaskFolder } from "../tasks/task-folder.ts";
import { once } from "../text/once.ts";
import { createEngines } from "./engines.ts";

export interface ProjectOptions {
  readonly env: EnvironmentVariables;
  /** The folder in which the user runs the command. */
  readonly folder: string;
  /** The command line of this process. Other processes show it to name the holder of a lock. */
  readonly command: string;
  readonly flags: FlagSettings;
  /** Called at each crash point, which is a place in the program where a test may kill the process. */
  readonly crashPoint?: CrashHook;
  readonly clock?: () => Date;
}

/** Gives a command access to what it works with. Opens nothing before the command asks for it. */
export function openProject({
  env,
  folder,
  command,
  flags,
  crashPoint = noCrashHook,
  clock = () => new Date(),
}: ProjectOptions): Project {
  const folders = userFolders(env);
  const locks = openLocks(env, command);
  const host = { folder, env, folders, clock, locks, crashPoint };
  const repository = once(() => requireRepository(folder));
  const trust = openTrustFile(folders.state, locks.at(join(folders.state, "trust.lock")));
  const settings = once(async () => {
    const root = (await findRepository(folder))?.root ?? null;
    return readSettings({ root, configFolder: folders.config, env, folder, flags, trust });
  });
  const engines = createEngines(host, async () => (await settings()).effective.engine);
  const identity = once(async () => readProjectRef(await repository(), folders.state));
  const file = once(async () => {
    const { root, gitFolder } = await repository();
    return stateFile({
      stateFile: await resolveSwarmFile(root, "swarm-state.json"),
      copyFile: join(gitFolder, "aimi", "swarm-state.json"),
      archiveFolder: join(root, ".aimi", "swarms"),
    });
  });
  const inGitFolder = async (name: string) => join((await repository()).gitFolder, "aimi", name);
  const stateLock = once(async () => locks.at(await inGitFolder("state.lock")));
  const commits = once(async () => createCommitReader((await repository()).root));
  return {
    host,
    engines,
    tasks: {
      folder: once(async () => openTaskFolder((await repository()).root)),
      ledger: once(async () => ledgerFile(await inGitFolder("ledger.ndjson"))),
    },
    git: {
      queries: once(async () => createGit((await repository()).root)),
      commits,
      work: once(async () => workRepository({ commonFolder: (await repository()).commonFolder })),
    },
    state: {
      path: async () => (await file()).paths.stateFile,
      store: once(async () => {
        const lock = fencedLock(await stateLock(), await file());
        return stateStore({ file: await file(), lock, clock });
      }),
      owner: once(async () => locks.at(await inGitFolder("owner.lock"))),
      async openForOwner() {
        const lock = ownerStateLock(await stateLock(), await file(), locks);
        return openOwnerState({ file: await file(), lock, clock, crashPoint });
      },
    },
    repository,
    identity,
    settings,
    trust: async () => trust,
    images: once(() => openImages({ host, engines, identity, git: { commits } })),
  };
}
