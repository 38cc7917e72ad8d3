import { labels } from "../engine/engine.ts";
import { messageOf } from "../errors/errors.ts";
import { ensureImageAtHead } from "../images/ensure-image-at-head.ts";
import type { Project } from "../project/project.ts";
import { acquireSwarmOwnership } from "../state/acquire-ownership.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import {
  countWorkersByStatus,
  hasUnendedWorkers,
  haveAllWorkersEnded,
  type SwarmState,
} from "../state/rules/swarm-state.ts";
import { watchState } from "../state/watch-state.ts";
import type { WorkerTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { type BegunSwarm, beginOwnedSwarm, type OwnerWorkRequest } from "./begin-owned-swarm.ts";
import { findUnendedWorkers } from "./begin-swarm.ts";
import { openMergeReportFile } from "./merge/merge-report-file.ts";
import { reworkWorkers } from "./merge/rework-workers.ts";
import { defaultIntegrationBranch } from "./merge/rules/merge-report.ts";
import { openOwnerServices } from "./open-owner-services.ts";
import { openSwarmEvents } from "./open-swarm-events.ts";
import { runOwnerLoop } from "./owner-loop.ts";
import type { SwarmRunCallbacks } from "./owner-request.ts";
import { summarizeState } from "./report/summarize-state.ts";
import { writeSwarmReport } from "./report/write-report.ts";
import { findTaskOfWorker } from "./worker/find-worker-task.ts";
import { finishInterruptedRemovals } from "./worker/finish-removals.ts";
import { createHostCapacityReader } from "./worker/host-capacity.ts";
import type { OwnerServices, SwarmEvent } from "./worker/owner-services.ts";
import { retryWorkers } from "./worker/retry-workers.ts";

/** Makes this process the owner of the swarm, and runs the swarm to its end. */
export async function ownSwarm(
  project: Project,
  request: OwnerWorkRequest,
  report: SwarmRunCallbacks,
): Promise<SwarmState> {
  await using ownership = await acquireSwarmOwnership(await project.state.owner());
  const begun = await beginOwnedSwarm(project, request, report);
  const { state } = begun;
  await using events = await openSwarmEvents(project, state.swarmId, report.onStep);
  const emit = (event: SwarmEvent): void => {
    events.add(event);
    report.emit(event);
  };
  emit({ event: "begun", workers: state.containers.length });
  report.onBegun(state);
  const isWork = request.retry?.length || hasUnendedWorkers(state);
  const image = isWork ? await buildImage(project, begun.agentsInImage, report) : "";
  await using services = await openOwnerServices(project, begun, { ...report, emit }, image);
  await finishInterruptedRemovals(services);
  await retry(project, services, request);
  const ended = await runOwnerLoop(
    services,
    await ownerOptions(project, begun, { ...report, emit }, request),
    {
      halt: report.halt,
      stopNow: report.stopNow,
      lost: ownership.lost,
    },
  );
  await services.networkAccess.end({ isFinished: haveAllWorkersEnded(ended) });
  emit({ event: "finished", ...countWorkersByStatus(ended) });
  await writeSummary(project, ended, report.onStep);
  project.host.crashPoint("before-owner-release");
  return ended;
}

/**
 * Returns the tag of this repository's image, after building the image if it is missing. Returns an empty text
 * if `halt` interrupts the build, because the owner then starts no workers.
 */
async function buildImage(
  project: Pick<Project, "host" | "images" | "repository">,
  withAgents: readonly string[],
  { signal, halt, onStep }: SwarmRunCallbacks,
): Promise<string> {
  project.host.crashPoint("before-image-build");
  const onBuildStep = (step: string): void => {
    onStep(step);
    project.host.crashPoint("during-image-build");
  };
  // No worker runs yet, so `halt` can end the build at once.
  const ending = AbortSignal.any([signal, halt]);
  return ensureImageAtHead(project, withAgents, onBuildStep, ending).catch((error: unknown) => {
    if (!halt.aborted) throw error;
    return "";
  });
}

/**
 * Orders a next attempt for the workers that the user retries. With `onto`, merges this branch with each
 * worker's result, and the worker's agent reworks the merged result.
 */
async function retry(
  { repository }: Pick<Project, "repository">,
  services: OwnerServices,
  { retry: names = [], onto }: OwnerWorkRequest,
): Promise<void> {
  if (onto === undefined) return retryWorkers(services, names);
  const { swarmId } = services.swarm;
  const report = await openMergeReportFile((await repository()).root).read(swarmId);
  const branch = onto === "integration" ? (report?.branch ?? defaultIntegrationBranch(swarmId)) : onto;
  await reworkWorkers(services, { names, branch, report });
}

/**
 * Writes the summary of a swarm to a file. If this fails, only shows a message, because the swarm has already
 * ended.
 */
async function writeSummary(
  project: Parameters<typeof summarizeState>[0],
  ended: SwarmState,
  onStep: (step: string) => void,
): Promise<void> {
  try {
    await writeSwarmReport((await project.repository()).root, await summarizeState(project, ended));
  } catch (error) {
    onStep(`The summary report cannot be written: ${messageOf(error)}`);
  }
}

/** Returns what the owner's loop needs to know about the swarm, such as the tasks of its workers. */
async function ownerOptions(
  project: Pick<Project, "repository" | "state" | "tasks">,
  { state: { swarmId, containers }, settings, engine }: BegunSwarm,
  { onBegun, emit }: Pick<SwarmRunCallbacks, "onBegun" | "emit">,
  { policy }: OwnerWorkRequest,
): Promise<Parameters<typeof runOwnerLoop>[1]> {
  const stateFile = await project.state.path();
  const tasks = new Map<string, WorkerTask | null>();
  let reported = containers.length;
  return {
    policy,
    parallel: settings.parallel,
    askHostEveryMs: 5_000,
    watch: (onChange, signal) => watchState(stateFile, onChange, signal),
    hostCapacity: createHostCapacityReader(engine, (found) => found[labels.swarm] === swarmId),
    async waitingIn(now) {
      if (now.containers.length > reported) onBegun(now);
      reported = now.containers.length;
      for (const record of now.containers) {
        if (isTerminalStatus(record.status) || tasks.has(record.containerName)) continue;
        const task = await findTaskOfWorker(project, swarmId, record);
        tasks.set(record.containerName, task);
        const why = `for the task file ${record.taskFilePath}, which is missing or invalid`;
        if (task === null) emit({ event: "waiting", worker: workerSlug(record), why });
      }
      return findUnendedWorkers(now, ({ containerName }) => tasks.get(containerName) ?? null);
    },
  };
}
