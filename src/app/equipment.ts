import { join } from "node:path";
import type { SwarmRunCallbacks } from "../cli/composition.ts";
import type { ContainerLimits } from "../engine/containers.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { CrashHook } from "../machine/crash-points.ts";
import type { Settings } from "../settings/rules/settings.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { StateStore } from "../state/state-store-port.ts";
import type { OwnerServices } from "../swarm/worker/prepare-worker.ts";
import type { LedgerFile } from "../tasks/project-files-port.ts";
import { createSwarmProver, type SwarmProverInput } from "./prover.ts";

export interface OwnerServicesDeps {
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  readonly crashPoint: CrashHook;
  readonly limits: () => Promise<ContainerLimits>;
  readonly stateStore: () => Promise<StateStore>;
  readonly ledger: () => Promise<LedgerFile>;
}

/**
 * The objects from which the services of one swarm's owner are built, such as the image, the settings and
 * the network access.
 */
export interface OwnerServicesInput
  extends Pick<
    OwnerServices,
    "image" | "runtime" | "change" | "changeSoon" | "update" | "networkAccess" | "emit"
  > {
  readonly settings: Settings;
  readonly report: SwarmRunCallbacks;
}

/**
 * Creates the services that a swarm's owner calls to run workers, such as access to containers and to the
 * repository.
 */
export async function buildOwnerServices(
  deps: OwnerServicesDeps,
  state: SwarmState,
  engine: ContainerEngine,
  { image, runtime, change, changeSoon, update, networkAccess, settings, emit, report }: OwnerServicesInput,
): Promise<OwnerServices> {
  const [
    { workerChannel },
    { systemClockAndRandom },
    { readArchive },
    { packFiles },
    { findAdapterMessageProblem },
    { workRepository },
    { createCommitReader },
    { createGit },
    { readAgentScript },
    { proofFiles },
    { isProofReport },
  ] = await Promise.all([
    import("../swarm/worker/worker-channel.ts"),
    import("../protocol/clock-and-random.ts"),
    import("../archive/read-archive.ts"),
    import("../archive/pack-files.ts"),
    import("../schema/find-message-problem.ts"),
    import("../git/work-repository.ts"),
    import("../git/commit-reader.ts"),
    import("../git/git.ts"),
    import("../tasks/read-agent-script.ts"),
    import("../swarm/merge/proof-files.ts"),
    import("./read-document.ts"),
  ]);
  const { root, gitFolder, commonFolder, worktree } = await deps.repository();
  const { containers, volumes } = await engine.open();
  const { swarmId, project } = state;
  const commits = createCommitReader(root);
  const imageCommit = await commits.head();
  if (imageCommit === null)
    throw new SwarmError("GIT_FAILED", {
      command: "rev-parse HEAD",
      reason: "the repository has no commit yet",
    });
  const ledger = await deps.ledger();
  const work = workRepository({ commonFolder });
  const prover: SwarmProverInput = { state, work, commits, engine, runtime, image };
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
      networkAccess,
      change,
      changeSoon,
      update,
    },
    timing: systemClockAndRandom,
    crashPoint: deps.crashPoint,
    limits: await deps.limits(),
    settings,
    author: await createGit(root).user(),
    work,
    findProof: (slug) => proofFiles({ root, swarmId }, isProofReport).findProof(slug),
    prove: settings.prove ? createSwarmProver(deps, prover, report.signal) : null,
    channel: workerChannel({
      ...{
        containers,
        swarmId,
        timing: systemClockAndRandom,
        findProblem: findAdapterMessageProblem,
        crashPoint: deps.crashPoint,
      },
      readArchive: (archive, limits) => readArchive(archive, { limits }),
      folder: join(root, ".aimi", "swarms", swarmId),
      gitFolder,
      packFile: (path, from) =>
        packFiles([
          { kind: "folder", path: "in", mode: 0o700, ...own },
          { kind: "file", path, mode: 0o600, ...own, from },
        ]),
    }),
    read: async () => (await deps.stateStore()).read(),
    readScript: (path) => readAgentScript(join(root, ".aimi"), path),
    async addToLedger({ task }, outcome) {
      // The ledger's key is the checksum of the task file, so a task without a file has no entry.
      if (task.sha256 === null) return;
      await ledger.add([
        { sha256: task.sha256, file: task.fileName, outcome, swarmId, at: deps.clock().toISOString() },
      ]);
    },
    emit,
    onMessage: report.onMessage,
    clock: deps.clock,
    signal: report.signal,
  };
}
