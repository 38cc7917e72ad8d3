import { join } from "node:path";
import type { ContainerRecord } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import { openSwarmNetworkAccess, type SwarmNetworkAccess } from "../gateway/open-network-access.ts";
import type { Project } from "../project/project.ts";
import { systemClockAndRandom } from "../protocol/clock-and-random.ts";
import { sandboxLimits } from "../sandbox/sandbox-limits.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import { requireRecord, type SwarmState, stateWithReplacedRecord } from "../state/rules/swarm-state.ts";
import { readAgentScript } from "../tasks/read-agent-script.ts";
import type { BegunSwarm } from "./begin-owned-swarm.ts";
import { proofFiles } from "./merge/proof-files.ts";
import { createSwarmProver } from "./merge/swarm-prover.ts";
import type { SwarmRunCallbacks } from "./owner-request.ts";
import { findTaskOfWorker } from "./worker/find-worker-task.ts";
import type { OwnerServices, SwarmStore } from "./worker/owner-services.ts";
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
  const repository = await project.repository();
  const { root, worktree } = repository;
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
  const states: SwarmStore = {
    read: () => store.read(),
    record: async (name) => requireRecord(await store.read(), name),
    change: (name, changed) => states.update(recordChange(name, changed)),
    changeSoon: async (name, changed) => void (await owned.updateInBatch(recordChange(name, changed))),
    update: async (changed) => void (await owned.update(changed)),
  };
  const { clock, crashPoint } = project.host;
  const limits = sandboxLimits(requireTrustedSettings(await project.settings()));
  const networkAccess = undo.use(
    await openSwarmNetworkAccess(project, begun, {
      ...report,
      store: states,
      recall: (record) => findTaskOfWorker(project, swarmId, record),
    }),
  );
  const proverInput = { state, work, commits, engine, runtime, image, limits };
  const services: OwnerServices = {
    swarm: { swarmId, projectId: state.project.id, worktree, settings },
    store: states,
    sandboxes: {
      canPause: engine.capabilities.pause,
      containers,
      volumes,
      image,
      imageCommit,
      runtime,
      limits,
    },
    repository: { work, commits, author: await (await project.git.queries()).user() },
    channel: workerChannel(repository, swarmId, containers, crashPoint),
    networkAccess,
    events: report,
    time: {
      wait: systemClockAndRandom.wait,
      random: systemClockAndRandom.random,
      clock,
      crashPoint,
      signal: report.signal,
    },
    proofs: {
      find: (slug) => proofFiles({ root, swarmId }).findProof(slug),
      prove: settings.prove ? createSwarmProver(project, proverInput, report.signal) : null,
    },
    tasks: {
      readScript: (path) => readAgentScript(join(root, ".aimi"), path),
      async addToLedger({ task: { sha256, fileName: file } }, outcome) {
        // The ledger's key is the checksum of the task file, so a task without a file has no entry.
        if (sha256 !== null)
          await ledger.add([{ sha256, file, outcome, swarmId, at: clock().toISOString() }]);
      },
    },
  };
  const opened = undo.move();
  return { ...services, networkAccess, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function recordChange(
  worker: string,
  changed: (record: ContainerRecord) => ContainerRecord,
): (state: SwarmState) => SwarmState {
  return (before) => stateWithReplacedRecord(before, changed(requireRecord(before, worker)));
}
