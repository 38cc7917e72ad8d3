import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { OwnerRequest, SwarmRunCallbacks } from "../cli/composition.ts";
import type { ContainerRecord, ProjectRef } from "../contract/swarm-state.ts";
import { type ContainerEngine, labels } from "../engine/engine.ts";
import { chooseSystemCallFilter, describeSystemCallFilter } from "../engine/rules/system-call-filter.ts";
import { SwarmError } from "../errors/errors.ts";
import type { EventLog } from "../events/event-log-port.ts";
import type { AgentAccess } from "../gateway/agent-access.ts";
import type { ImageOperations } from "../images/image-operations.ts";
import type { Lock } from "../machine/lock.ts";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";
import type { DocumentParsers } from "../settings/located-document.ts";
import { applyRecordedSettings, pickRecordedSettings } from "../settings/rules/recorded-settings.ts";
import type { ExplainedSetting, Settings } from "../settings/rules/settings.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { findPendingCommands } from "../state/rules/owner-commands.ts";
import {
  countWorkersByStatus,
  hasUnendedWorkers,
  haveAllWorkersEnded,
  requireRecord,
  type SwarmState,
  stateWithReplacedRecord,
} from "../state/rules/swarm-state.ts";
import type { StateFile } from "../state/state-file.ts";
import type { PlannedWork } from "../swarm/begin-swarm.ts";
import { defaultIntegrationBranch } from "../swarm/merge/rules/merge-report.ts";
import type { SwarmEvent, SwarmOwnerDeps } from "../swarm/worker/swarm-owner-deps.ts";
import type { LoadTasksDeps } from "../tasks/load-tasks.ts";
import type { LoadedTask, WorkerTask } from "../tasks/rules/plan.ts";
import { workerSlug } from "../text/slugs.ts";
import { openSwarmNetworkAccess } from "./egress.ts";
import { buildOwnerServices, type OwnerServicesDeps } from "./equipment.ts";
import { ensureImageAtHead, findSandboxRuntime } from "./sandbox-parts.ts";

export interface OwnerOperationsDeps extends OwnerServicesDeps {
  readonly env: EnvironmentVariables;
  readonly folders: UserFolders;
  readonly project: () => Promise<ProjectRef>;
  readonly explainAllSettings: () => Promise<{ readonly settings: readonly ExplainedSetting[] }>;
  /**
   * Returns the first engine that answers. If `recorded` is the endpoint of swarm's private engine and that
   * engine is stopped, starts it first.
   */
  readonly engine: (recorded: string | null) => Promise<ContainerEngine>;
  readonly images: () => Promise<ImageOperations>;
  readonly ownerLock: () => Promise<Lock>;
  readonly ownerStateLock: () => Promise<Lock>;
  readonly stateFile: () => Promise<StateFile>;
  readonly taskDeps: () => Promise<LoadTasksDeps & { readonly parsers: DocumentParsers }>;
}

/** Asks this process to become the owner of a swarm and to add work to the swarm. */
export interface OwnerWorkRequest extends OwnerRequest {
  /** The tasks for which the owner adds new workers to the swarm's state. */
  readonly works: readonly PlannedWork[];
}

export interface OwnerOperations {
  /** Makes this process the owner of the swarm, and runs the swarm to its end. */
  readonly own: (work: OwnerWorkRequest, report: SwarmRunCallbacks) => Promise<SwarmState>;
  /**
   * Returns which models the agents may call, and with which credentials, under these settings. If
   * `settings` is null, uses the settings of a new swarm.
   */
  readonly accessToModels: (settings: Settings | null) => Promise<AgentAccess>;
  readonly watcher: () => Promise<(onChange: () => void, signal: AbortSignal) => void>;
}

/** Creates the operations of a swarm's owner, the process that runs the swarm's workers. */
export function createOwnerOperations(deps: OwnerOperationsDeps): OwnerOperations {
  return { own, accessToModels, watcher };

  async function own(request: OwnerWorkRequest, report: SwarmRunCallbacks): Promise<SwarmState> {
    const { works } = request;
    const [
      { acquireSwarmOwnership },
      { openOwnerState },
      { beginSwarm, findUnendedWorkers },
      { runOwnerLoop },
      { finishInterruptedRemovals },
      { retryWorkers },
      { createHostCapacityReader },
    ] = await Promise.all([
      import("../state/acquire-ownership.ts"),
      import("../state/owner-state.ts"),
      import("../swarm/begin-swarm.ts"),
      import("../swarm/owner-loop.ts"),
      import("../swarm/worker/finish-removals.ts"),
      import("../swarm/worker/retry-workers.ts"),
      import("../swarm/worker/host-capacity.ts"),
    ]);
    await using ownership = await acquireSwarmOwnership(await deps.ownerLock());
    const known = await (await deps.stateStore()).find();
    const { id: projectId } = await deps.project();
    if (known !== null && !request.force && known.project.id !== projectId)
      throw new SwarmError("PROJECT_MOVED", {
        was: `project ${known.project.id}`,
        is: `project ${projectId}`,
      });
    const isResumed = known !== null && !request.force && !(works.length > 0 && haveAllWorkersEnded(known));
    // A new swarm gets a new id if the requested id is that of the known swarm: the archive keeps the known
    // swarm under its id.
    const freshId =
      request.swarmId === undefined || request.swarmId === known?.swarmId ? randomUUID() : request.swarmId;
    const swarmId = isResumed ? known.swarmId : freshId;
    const settings = await settingsFor(swarmId);
    if (isResumed) await refuseOtherNetwork(known, settings);
    const access = await accessToModels(settings);
    const due = await access.findAgentsToStart(works, isResumed ? known : null, request.retry ?? []);
    access.refuse(due);
    if (works.length === 0) for (const line of access.describe(due)) report.onStep(line);
    const engine = await deps.engine(known?.engine?.endpoint ?? null);
    const network = await access.network((await engine.open()).networks, report.signal);
    const { id, name, endpoint, runtimes, filter } = await engine.info(report.signal);
    const found = await findSandboxRuntime(deps, engine, settings, report.signal);
    const systemCalls = describeSystemCallFilter(
      chooseSystemCallFilter(filter, found.runtime),
      await deps.limits(),
    );
    const { storeSettings } = await requestsOf(swarmId);
    // Records the settings before the state file is written, so that every swarm with a state file has
    // settings.
    if (!isResumed) await storeSettings(pickRecordedSettings(settings));
    deps.crashPoint("before-state-init");
    const state = await beginSwarm(
      {
        store: await deps.stateStore(),
        project: await deps.project(),
        engine: { id, name, endpoint, isolation: found.level, systemCalls },
        newId: () => swarmId,
        clock: deps.clock,
      },
      { works, isNew: !isResumed, earlierCommands: known === null ? [] : findPendingCommands(known) },
    );
    deps.crashPoint("after-state-init");
    if (isResumed) await storeSettings(pickRecordedSettings(settings));
    await using events = await openEvents(swarmId, report);
    const emit = (event: SwarmEvent): void => {
      events.add(event);
      report.emit(event);
    };
    emit({ event: "begun", workers: state.containers.length });
    report.onBegun(state);
    const isWork = request.retry?.length || hasUnendedWorkers(state);
    const image = isWork ? await build(report, access.inImage(due)) : "";
    await using owned = openOwnerState({
      file: await deps.stateFile(),
      lock: await deps.ownerStateLock(),
      clock: deps.clock,
      crashPoint: deps.crashPoint,
    });
    const update: SwarmOwnerDeps["update"] = async (changed) => {
      await owned.update(changed);
    };
    const recordChange =
      (worker: string, changed: (record: ContainerRecord) => ContainerRecord) => (before: SwarmState) =>
        stateWithReplacedRecord(before, changed(requireRecord(before, worker)));
    const change: SwarmOwnerDeps["change"] = async (worker, changed) => {
      await owned.update(recordChange(worker, changed));
    };
    const changeSoon: SwarmOwnerDeps["changeSoon"] = async (worker, changed) => {
      await owned.updateInBatch(recordChange(worker, changed));
    };
    const networkAccess = await openSwarmNetworkAccess(deps, {
      ...{
        state,
        engine,
        runtime: found.runtime,
        runtimes,
        network,
        access,
        settings,
        change,
        update,
        emit,
        report,
        recall: (record: ContainerRecord) => recall(swarmId, record),
      },
    });
    await using _released = networkAccess;
    const services = await buildOwnerServices(deps, state, engine, {
      ...{ image, networkAccess, settings, emit, runtime: found.runtime, report, change, changeSoon, update },
    });
    await finishInterruptedRemovals(services);
    if (request.onto === undefined) await retryWorkers(services, request.retry ?? []);
    else await rework(services, { swarmId, names: request.retry ?? [], onto: request.onto });
    const tasks = new Map<string, WorkerTask | null>();
    let reported = state.containers.length;
    const ended = await runOwnerLoop(
      services,
      {
        ...{ policy: request.policy, watch: await watcher() },
        ...{ parallel: settings.parallel, askHostEveryMs: 5_000 },
        hostCapacity: createHostCapacityReader(engine, (found) => found[labels.swarm] === swarmId),
        async waitingIn(now) {
          if (now.containers.length > reported) report.onBegun(now);
          reported = now.containers.length;
          for (const record of now.containers)
            if (!isTerminalStatus(record.status) && !tasks.has(record.containerName))
              tasks.set(record.containerName, await recallOrReport(swarmId, record, emit));
          return findUnendedWorkers(now, ({ containerName }) => tasks.get(containerName) ?? null);
        },
      },
      { halt: report.halt, stopNow: report.stopNow, lost: ownership.lost },
    );
    await networkAccess.end({ isFinished: haveAllWorkersEnded(ended) });
    emit({ event: "finished", ...countWorkersByStatus(ended) });
    await writeSummary(ended, report);
    deps.crashPoint("before-owner-release");
    return ended;
  }

  /**
   * Merges each named worker's result with the branch `onto`, and orders a next attempt in which the
   * worker's agent reworks the merged result.
   */
  async function rework(
    services: SwarmOwnerDeps,
    {
      swarmId,
      names,
      onto,
    }: { readonly swarmId: string; readonly names: readonly string[]; readonly onto: string },
  ): Promise<void> {
    const [{ reworkWorkers }, { openMergeReportFile }, { isMergeReport }] = await Promise.all([
      import("../swarm/merge/rework-workers.ts"),
      import("../swarm/merge/merge-report-file.ts"),
      import("./read-document.ts"),
    ]);
    const { root } = await deps.repository();
    const report = await openMergeReportFile(root, isMergeReport).read(swarmId);
    const branch = onto === "integration" ? (report?.branch ?? defaultIntegrationBranch(swarmId)) : onto;
    await reworkWorkers(services, { names, branch, report });
  }

  /**
   * Writes the summary of a swarm to a file. If this fails, only shows a message, because the swarm has
   * already ended.
   */
  async function writeSummary(ended: SwarmState, report: SwarmRunCallbacks): Promise<void> {
    const [{ createReviewOperations }, { writeSwarmReport }] = await Promise.all([
      import("./review.ts"),
      import("../swarm/report/write-report.ts"),
    ]);
    const state = async (): Promise<SwarmState> => ended;
    try {
      const summary = await createReviewOperations({ ...deps, state, findState: state }).summary();
      await writeSwarmReport((await deps.repository()).root, summary);
    } catch (error) {
      report.onStep(
        `The summary report cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  async function openEvents(swarmId: string, report: SwarmRunCallbacks): Promise<EventLog> {
    const [{ eventLog }, { resolveSwarmFile }, { root }] = await Promise.all([
      import("../events/event-log.ts"),
      import("../machine/path-containment.ts"),
      deps.repository(),
    ]);
    const folder = dirname(await resolveSwarmFile(root, "events.ndjson"));
    const onFailure = (error: unknown): void =>
      report.onStep(
        `The event log cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      );
    return eventLog({ folder, swarmId, clock: deps.clock, onFailure });
  }

  async function requestsOf(swarmId: string) {
    const { openTaskRequestStore } = await import("../swarm/worker/task-request-store.ts");
    return openTaskRequestStore((await deps.repository()).gitFolder, swarmId);
  }

  /**
   * Returns the settings with which the swarm was started, except those that the flags of the current
   * command override.
   */
  async function settingsFor(swarmId: string | null): Promise<Settings> {
    const { settings } = await deps.explainAllSettings();
    return applyRecordedSettings(
      settings,
      swarmId === null ? null : await (await requestsOf(swarmId)).findSettings(),
    );
  }

  /**
   * Throws if the setting `network` was changed while unfinished sandboxes exist, because these still use
   * the network that was recorded when the swarm started.
   */
  async function refuseOtherNetwork(state: SwarmState, { network }: Settings): Promise<void> {
    const recorded = await (await requestsOf(state.swarmId)).findSettings();
    const isAnyThere = state.containers.some(
      ({ status, containerId }) => !isTerminalStatus(status) && containerId !== null,
    );
    if (!isAnyThere || recorded?.network === undefined || recorded.network === network) return;
    const expected = `${recorded.network}, because unfinished sandboxes of this swarm use this network`;
    throw new SwarmError("INVALID_VALUE", { name: "--network", value: network, expected });
  }

  async function accessToModels(settings: Settings | null): Promise<AgentAccess> {
    const [{ agentAccess }, { openTaskRequestStore }] = await Promise.all([
      import("../gateway/agent-access.ts"),
      import("../swarm/worker/task-request-store.ts"),
    ]);
    const { gitFolder } = await deps.repository();
    return agentAccess({
      ...{ settings: settings ?? (await settingsFor(null)), env: deps.env, loadTask },
      requestsOf: (swarmId) => openTaskRequestStore(gitFolder, swarmId),
    });
  }

  /**
   * Returns the tag of this repository's image, after building the image if it is missing. Returns an empty
   * text if `halt` interrupts the build, because the owner then starts no workers.
   */
  async function build(report: SwarmRunCallbacks, withAgents: readonly string[]): Promise<string> {
    deps.crashPoint("before-image-build");
    // No worker runs yet, so `halt` can end the build at once.
    const ending = AbortSignal.any([report.signal, report.halt]);
    const onStep = (step: string): void => {
      report.onStep(step);
      deps.crashPoint("during-image-build");
    };
    return ensureImageAtHead(deps, withAgents, onStep, ending).catch((error: unknown) => {
      if (!report.halt.aborted) throw error;
      return "";
    });
  }

  async function recallOrReport(
    swarmId: string,
    record: ContainerRecord,
    emit: (event: SwarmEvent) => void,
  ): Promise<WorkerTask | null> {
    const task = await recall(swarmId, record);
    const why = `for the task file ${record.taskFilePath}, which is missing or invalid`;
    if (task === null) emit({ event: "waiting", worker: workerSlug(record), why });
    return task;
  }

  async function recall(swarmId: string, record: ContainerRecord): Promise<WorkerTask | null> {
    const { findWorkerTask } = await import("../swarm/worker/find-worker-task.ts");
    const { findRequest } = await requestsOf(swarmId);
    return findWorkerTask({ loadTask, findRequest }, record);
  }

  async function loadTask(path: string): Promise<LoadedTask | null> {
    const { readAcceptedTask } = await import("../tasks/load-tasks.ts");
    return readAcceptedTask(await deps.taskDeps(), path);
  }

  async function watcher(): Promise<(onChange: () => void, signal: AbortSignal) => void> {
    const { watchState } = await import("../state/watch-state.ts");
    const { stateFile } = (await deps.stateFile()).paths;
    return (onChange, signal) => watchState(stateFile, onChange, signal);
  }
}
