import { join } from "node:path";
import { packFiles } from "../archive/pack-files.ts";
import { readArchive } from "../archive/read-archive.ts";
import type { ContainerRecord } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { openSwarmNetworkAccess, type SwarmNetworkAccess } from "../gateway/open-network-access.ts";
import type { Project } from "../project/project.ts";
import { systemClockAndRandom } from "../protocol/clock-and-random.ts";
import { sandboxLimits } from "../sandbox/sandbox-limits.ts";
import { findAdapterMessageProblem } from "../schema/find-message-problem.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import { requireRecord, type SwarmState, stateWithReplacedRecord } from "../state/rules/swarm-state.ts";
import { readAgentScript } from "../tasks/read-agent-script.ts";
import type { BegunSwarm } from "./begin-owned-swarm.ts";
import { proofFiles } from "./merge/proof-files.ts";
import { createSwarmProver } from "./merge/swarm-prover.ts";
import type { SwarmRunCallbacks } from "./owner-request.ts";
import { findTaskOfWorker } from "./worker/find-worker-task.ts";
import type { OwnerServices } from "./worker/prepare-worker.ts";
import type { SwarmOwnerDeps } from "./worker/swarm-owner-deps.ts";
import { workerChannel } from "./worker/worker-channel.ts";

/** The services of an owner, open while the owner runs. */
export interface OpenOwnerServices extends OwnerServices, AsyncDisposable {
  readonly networkAccess: SwarmNetworkAccess;
}

/** Opens the services that a swarm's owner calls to run workers. `image` is the image of the workers. */
export async function openOwnerServices(
  project: Project,
  begun: BegunSwarm,
  report: Pick<SwarmRunCallbacks, "emit" | "onMessage" | "onStep" | "signal">,
  image: string,
): Promise<OpenOwnerServices> {
  const { settings, engine, runtime, state } = begun;
  const { swarmId } = state;
  const { root, worktree } = await project.repository();
  const { containers, volumes } = await engine.open();
  const [commits, work, store, ledger] = await Promise.all([
    project.git.commits(),
    project.git.work(),
    project.state.store(),
    project.tasks.ledger(),
  ]);
  const imageCommit = await commits.head();
  if (imageCommit === null)
    throw new SwarmError("GIT_FAILED", {
      command: "rev-parse HEAD",
      reason: "the repository has no commit yet",
    });
  await using undo = new AsyncDisposableStack();
  const owned = undo.use(await project.state.openForOwner());
  const update: SwarmOwnerDeps["update"] = async (changed) => void (await owned.update(changed));
  const change: SwarmOwnerDeps["change"] = (name, changed) => update(recordChange(name, changed));
  const limits = sandboxLimits(requireTrustedSettings(await project.settings()));
  const recall = (record: ContainerRecord) => findTaskOfWorker(project, swarmId, record);
  const networkAccess = undo.use(
    await openSwarmNetworkAccess(project, begun, { ...report, change, update, recall }),
  );
  const proverInput = { state, work, commits, engine, runtime, image, limits };
  const services: OwnerServices = {
    swarmId,
    projectId: state.project.id,
    worktree,
    containers,
    volumes,
    image,
    runtime,
    imageCommit,
    commits,
    networkAccess,
    change,
    changeSoon: async (name, changed) => void (await owned.updateInBatch(recordChange(name, changed))),
    update,
    timing: systemClockAndRandom,
    crashPoint: project.host.crashPoint,
    limits,
    settings,
    author: await (await project.git.queries()).user(),
    work,
    findProof: (slug) => proofFiles({ root, swarmId }).findProof(slug),
    prove: settings.prove ? createSwarmProver(project, proverInput, report.signal) : null,
    channel: await openWorkerChannel(project, begun, containers),
    read: () => store.read(),
    readScript: (path) => readAgentScript(join(root, ".aimi"), path),
    async addToLedger({ task }, outcome) {
      // The ledger's key is the checksum of the task file, so a task without a file has no entry.
      if (task.sha256 === null) return;
      const at = project.host.clock().toISOString();
      await ledger.add([{ sha256: task.sha256, file: task.fileName, outcome, swarmId, at }]);
    },
    emit: report.emit,
    onMessage: report.onMessage,
    clock: project.host.clock,
    signal: report.signal,
  };
  const opened = undo.move();
  return { ...services, networkAccess, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function openWorkerChannel(
  { repository }: Pick<Project, "repository">,
  { state: { swarmId } }: BegunSwarm,
  containers: SwarmOwnerDeps["containers"],
): Promise<SwarmOwnerDeps["channel"]> {
  const { root, gitFolder } = await repository();
  const own = { uid: 0, gid: 0 };
  return workerChannel({
    containers,
    swarmId,
    gitFolder,
    timing: systemClockAndRandom,
    findProblem: findAdapterMessageProblem,
    readArchive: (archive, limits) => readArchive(archive, { limits }),
    folder: join(root, ".aimi", "swarms", swarmId),
    packFile: (path, from) =>
      packFiles([
        { kind: "folder", path: "in", mode: 0o700, ...own },
        { kind: "file", path, mode: 0o600, ...own, from },
      ]),
  });
}

function recordChange(
  worker: string,
  changed: (record: ContainerRecord) => ContainerRecord,
): (state: SwarmState) => SwarmState {
  return (before) => stateWithReplacedRecord(before, changed(requireRecord(before, worker)));
}
