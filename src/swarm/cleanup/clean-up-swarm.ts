import { join } from "node:path";
import type { ContainerEngine } from "../../engine/engine.ts";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { Project } from "../../project/project.ts";
import { summarizeAttemptJournal } from "../../protocol/host-journal.ts";
import { acquireSwarmOwnership } from "../../state/acquire-ownership.ts";
import { findSwarmState, requireState, worktreeScope } from "../../state/find-state.ts";
import { findWorkersByArguments } from "../../state/rules/choose-workers.ts";
import { type CleanUpDeps, type CleanUpResult, cleanUpContainersAndVolumes } from "./clean-up.ts";
import { clearMachine } from "./clear-machine.ts";
import { openStateFolder } from "./state-folder.ts";
import { openSwarmFiles } from "./swarm-files.ts";

/** A request to remove what swarms left behind, such as containers, volumes and networks. */
export interface CleanupRequest {
  /** The names of the workers to clean up; empty for all workers. */
  readonly workers: readonly string[];
  /** Whether to remove the files of archived swarms as well. */
  readonly all: boolean;
  /** Whether to remove workers even if the repository does not have their work. */
  readonly discard: boolean;
  /** Whether to remove also this project's images, the private engine and swarm's own folder of the user. */
  readonly everything: boolean;
  readonly dryRun: boolean;
}

type CleanUpAccess = Pick<
  Project,
  "engines" | "git" | "host" | "identity" | "images" | "repository" | "state"
>;

/**
 * Removes what workers left behind, such as containers and volumes, and owns the swarm meanwhile. With
 * `dryRun`, changes nothing.
 */
export async function cleanUpSwarm(
  project: CleanUpAccess,
  request: CleanupRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<CleanUpResult> {
  const { workers, all, discard, everything, dryRun } = request;
  await using _held = dryRun ? null : await acquireSwarmOwnership(await project.state.owner());
  const state = await findSwarmState(project);
  const only =
    workers.length === 0
      ? null
      : findWorkersByArguments(requireState(state), workers).map(({ containerName }) => containerName);
  const engine = await findCleanupEngine(project, state?.engine?.endpoint ?? null, request);
  const scope = await worktreeScope(project);
  const done = await cleanUpContainersAndVolumes(
    await cleanUpDeps(project, engine),
    { state, only, discard, dryRun, withFiles: all || everything, scope },
    onStep,
    signal,
  );
  if (!everything) return done;
  const countRemoved = (kind: string): number =>
    dryRun ? done.removed.filter((thing) => thing.kind === kind).length : 0;
  const removedBefore = {
    endpoint: engine?.endpoint ?? null,
    containers: countRemoved("container"),
    volumes: countRemoved("volume"),
  };
  const cleared = await clearMachine(project, { dryRun, removedBefore }, onStep, signal);
  return {
    ...done,
    removed: [...done.removed, ...cleared.removed],
    kept: [...done.kept, ...cleared.kept],
  };
}

/**
 * Returns the engine in which `swarm cleanup` removes containers and volumes. Throws if the engine cannot be
 * reached.
 *
 * With `everything`, swarm's private engine is treated differently:
 * - If the engine's data is gone, returns null.
 * - If the engine is stopped, starts the engine, except with `dryRun`.
 */
async function findCleanupEngine(
  { engines, host: { folders } }: CleanUpAccess,
  recorded: string | null,
  { everything, dryRun }: CleanupRequest,
): Promise<ContainerEngine | null> {
  const engine = await engines.recorded(recorded);
  const unreachable = await whyUnreachable(engine);
  if (unreachable === null) return engine;
  if (!everything) throw unreachable;
  const own = await engines.private();
  const { endpoint } = await own.status();
  if (recorded !== null && recorded !== endpoint) throw unreachable;
  if (!(await openStateFolder(folders.state).hasEngine())) return null;
  if (dryRun) throw unreachable;
  await own.start({ mayInstall: false, reset: false, onStep: () => {} });
  return engines.at(endpoint);
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

async function cleanUpDeps(project: CleanUpAccess, engine: ContainerEngine | null): Promise<CleanUpDeps> {
  const repository = await project.repository();
  return {
    store: await project.state.store(),
    engine,
    clock: project.host.clock,
    files: openSwarmFiles(repository),
    readAttempt: ({ swarmId, slug, attempt }) =>
      summarizeAttemptJournal(join(repository.root, ".aimi", "swarms", swarmId, slug), attempt),
    work: await project.git.work(),
  };
}
