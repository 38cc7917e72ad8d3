import type { InstalledPlugin, PluginReport } from "../claude-code/claude-code.ts";
import type { DoctorReport } from "../contract/doctor.ts";
import type { KeptEvent } from "../contract/event.ts";
import type { MergeReport } from "../contract/merge.ts";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { SwarmSummary } from "../contract/summary.ts";
import type { WorkDiff } from "../contract/work-diff.ts";
import type { ContainerStats, OutputChunk, TerminalSize } from "../engine/containers.ts";
import type { PrivateEngine } from "../engine/private-engine.ts";
import type { EventSelection } from "../events/rules/event-filter.ts";
import type { SensitiveChanges, WorkChanges } from "../git/work-repository-port.ts";
import type { ImageOperations } from "../images/image-operations.ts";
import type { AdapterMessage, JournalledMessage } from "../protocol/rules/protocol-messages.ts";
import type { AgentSession, AgentTerminalOptions } from "../sandbox/command/agent-shell.ts";
import type { CommandResult } from "../sandbox/command/run-command.ts";
import type { CreatedSandbox } from "../sandbox/create-from-spec.ts";
import type { CopyRequest } from "../sandbox/files/copy-between-host-and-sandbox.ts";
import type { ListedSandboxes } from "../sandbox/list-sandboxes.ts";
import type { SandboxDanger } from "../sandbox/rules/sandbox-spec.ts";
import type { TaskRunResult } from "../sandbox/task/run-task.ts";
import type { ExplainedSetting, SettingsFile } from "../settings/rules/settings.ts";
import type { CheckedState } from "../state/compare-state-with-engine.ts";
import type { RepairResult } from "../state/repair-state.ts";
import type { ContainerRecord, RecordChange, SwarmState } from "../state/rules/swarm-state.ts";
import type { SwarmStatus } from "../state/rules/swarm-status.ts";
import type { CleanUpResult } from "../swarm/cleanup/clean-up.ts";
import type { NoticeReason } from "../swarm/report/rules/notice.ts";
import type { SwarmCronSchedule } from "../swarm/schedule/rules/cron-schedule.ts";
import type { SteeringCommand } from "../swarm/steer-unowned.ts";
import type { WaitRequest, WaitResult } from "../swarm/wait-for-workers.ts";
import type { RetryPolicy } from "../swarm/worker/rules/retry-policy.ts";
import type { SwarmEvent } from "../swarm/worker/swarm-owner-deps.ts";
import type { Worker } from "../swarm/worker/worker.ts";
import type { InitializedFile } from "../tasks/init-project.ts";
import type { CreatedTask, NewTaskRequest } from "../tasks/make-task.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import type { FileToTrust } from "../tasks/trust-files.ts";

export interface PlanRequest {
  readonly files: readonly string[];
  readonly again: boolean;
  readonly strict: boolean;
}

/** The operations that swarm's commands call. The modules of an operation are loaded at its first call. */
export interface CommandOperations {
  plan(request: PlanRequest): Promise<SwarmPlan>;
  explainSettings(): Promise<ExplainedSetting[]>;
  init(): Promise<InitializedFile[]>;
  /**
   * Writes a task file whose only story is the prompt, and returns it. If an earlier call with the same
   * prompt wrote the file, returns that file.
   */
  makeTask(request: NewTaskRequest): Promise<CreatedTask>;
  findFilesToTrust(): Promise<FileToTrust[]>;
  trust(files: readonly FileToTrust[]): Promise<void>;
  /** Returns the recorded state of this worktree's swarm; null if there is none. */
  findState(): Promise<SwarmState | null>;
  checkState(): Promise<CheckedState>;
  initState(options: { force: boolean }): Promise<SwarmState>;
  addContainer(
    container: Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName" | "containerId">,
  ): Promise<ContainerRecord>;
  updateContainer(name: string, change: RecordChange): Promise<ContainerRecord>;
  removeContainer(name: string): Promise<void>;
  cleanupState(): Promise<number>;
  repairState(rebind: "moved" | "copied" | null): Promise<RepairResult>;
  doctor(onStep: (step: string) => void, signal: AbortSignal): Promise<DoctorReport>;
  engine(): Promise<PrivateEngine>;
  plugin(): PluginOperations;
  sandboxes(): Promise<SandboxOperations>;
  images(): Promise<ImageOperations>;
  swarm(): SwarmOperations;
  watch(): WatchOperations;
  upkeep(): StatusAndCleanupOperations;
  merging(): MergeOperations;
  schedule(): ScheduleOperations;
}

/** Operations that schedule swarms in the user's crontab. */
export interface ScheduleOperations {
  /** Returns the crontab line for a schedule, without writing it. */
  plan(night: Pick<SwarmCronSchedule, "at" | "days" | "commandArguments">): Promise<string>;
  /**
   * Writes this project's line to the user's crontab. Returns false if the crontab already has the same line.
   */
  install(line: string): Promise<boolean>;
  /** Removes this project's lines from the user's crontab and returns them. */
  remove(): Promise<readonly string[]>;
  list(): Promise<readonly { readonly line: string; readonly isHere: boolean }[]>;
}

/** Operations on swarm's plugin for Claude Code. */
export interface PluginOperations {
  /** Creates the plugin's folder, or updates it, and returns its path. */
  path(): Promise<string>;
  /** Lets Claude Code validate the plugin's files, and runs sample tool calls through the plugin's hook. */
  validate(): Promise<PluginReport>;
  /** Installs the plugin with the `claude` program on the PATH. A repeated call does no harm. */
  install(onStep: (step: string) => void): Promise<InstalledPlugin>;
}

/** A request that makes this process the owner, which runs the swarm. */
export interface OwnerRequest {
  readonly policy: RetryPolicy;
  /** The names of the failed or stopped workers to retry. */
  readonly retry?: readonly string[];
  /**
   * The branch to merge into each retried worker's results before its agent continues. `integration` means
   * the branch with the swarm's merged results.
   */
  readonly onto?: string;
  /** Whether to archive the worktree's swarm, even if it is unfinished, and begin a new one. */
  readonly force?: boolean;
  /** The ID for a new swarm. Without it, swarm makes an ID. */
  readonly swarmId?: string;
}

/** A request to run task files as a swarm. */
export interface StartSwarmRequest extends PlanRequest, OwnerRequest {
  /**
   * Whether to add the task files to the swarm that is running, if there is one. Otherwise this process runs
   * them.
   */
  readonly append: boolean;
}

/**
 * Callbacks and abort signals between a command and the owner that it runs. The owner calls the callbacks,
 * and the command ends the swarm with the signals.
 */
export interface SwarmRunCallbacks {
  readonly onPlanned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Called after the workers' records have been written to the state file. */
  readonly onBegun: (state: SwarmState) => void;
  /**
   * Aborts with a `HaltRequest` as its reason. The owner then starts no more workers and asks agents to end
   * their turn.
   */
  readonly halt: AbortSignal;
  /** Aborts if the owner must stop all containers at once. */
  readonly stopNow: AbortSignal;
  /** Aborts if only the owner must end. Containers and records stay as they are. */
  readonly signal: AbortSignal;
}

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The path of the file to which the background owner writes its output. */
  readonly log: string;
}

export type StartSwarmResult =
  | { readonly kind: "nothing"; readonly plan: SwarmPlan; readonly files: readonly string[] }
  | { readonly kind: "appended"; readonly state: SwarmState; readonly files: readonly string[] }
  | { readonly kind: "carried out"; readonly state: SwarmState };

export interface RetryWorkersResult {
  readonly kind: "nothing" | "asked" | "carried out";
  readonly state: SwarmState;
}

/** Operations that run a swarm and control its workers. */
export interface SwarmOperations {
  start(request: StartSwarmRequest, report: SwarmRunCallbacks): Promise<StartSwarmResult>;
  resume(request: OwnerRequest, report: SwarmRunCallbacks): Promise<SwarmState>;
  /** Retries failed and stopped workers. If an owner is already running, asks this owner to retry them. */
  retry(
    request: OwnerRequest & { readonly workers: readonly string[]; readonly onto?: string },
    report: SwarmRunCallbacks,
  ): Promise<RetryWorkersResult>;
  /**
   * Sends a command such as `stop` to the swarm's owner, or applies it directly if no owner runs. An empty
   * `workers` means all workers.
   */
  steer(
    command: SteeringCommand,
    workers: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly by: "owner" | "us" | "none"; readonly state: SwarmState }>;
  /** Runs a swarm command in a background process, and waits until the swarm of this command has begun. */
  detach(words: readonly string[]): Promise<DetachedOwner>;
}

/** A request to merge workers' results. */
export interface MergeRequest {
  /** The names of the workers whose results to merge; empty for all workers. */
  readonly workers: readonly string[];
  /** The name of the branch to merge into; null for the swarm's own integration branch. */
  readonly into: string | null;
  readonly check:
    | { readonly kind: "asked"; readonly command: string | null }
    /**
     * Checks each merge with the command in the setting `verify`, or else with the repository's own tests.
     */
    | { readonly kind: "recognised" };
}

export interface MergeOperations {
  /**
   * Merges workers' results into a branch, without changing any working tree. Takes ownership of the swarm
   * during the merge.
   */
  merge(request: MergeRequest, onStep: (step: string) => void, signal: AbortSignal): Promise<MergeReport>;
}

/**
 * Operations that show a swarm's state and messages, and give access to the sandboxes of its running workers.
 */
export interface WatchOperations extends ReviewOperations {
  /** Returns the state of this worktree's swarm; throws STATE_MISSING if there is none. */
  state(): Promise<SwarmState>;
  /**
   * Yields a worker's messages that the host has stored. With `follow`, continues with new messages until the
   * worker ends or no owner runs.
   */
  journals(
    words: { readonly worker: string; readonly attempt: number | null; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<JournalledMessage>;
  /** Yields the last log lines of a running worker's adapter, then its new lines until the container ends. */
  tail(
    worker: ContainerRecord,
    options: { readonly last: number },
    signal: AbortSignal,
  ): AsyncIterable<string>;
  wait(request: WaitRequest, signal: AbortSignal): Promise<WaitResult>;
  /** Opens a terminal session in the sandbox of a running worker, as the same Linux user as the agent. */
  openTerminal(
    worker: ContainerRecord,
    words: TerminalSize & Omit<AgentTerminalOptions, "term">,
    signal: AbortSignal,
  ): Promise<AgentSession>;
  /** Runs a command, without a terminal, in the sandbox of a running worker. */
  runInside(
    worker: ContainerRecord,
    request: {
      readonly command: readonly string[];
      readonly input: AsyncIterable<Uint8Array>;
      readonly onOutput: TakeOutput;
    },
    signal: AbortSignal,
  ): Promise<CommandResult>;
}

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

/** Operations that compare a swarm's records with the container engine, and clean up. */
export interface StatusAndCleanupOperations {
  /**
   * Compares the swarm's records with the containers in the engine. Corrects the records if no owner runs.
   * Returns null if no swarm is recorded.
   */
  status(): Promise<SwarmStatus | null>;
  /**
   * Returns the recorded state and the owner, without a request to the container engine. Returns null if no
   * swarm is recorded.
   */
  recordedStatus(): Promise<Pick<SwarmStatus, "swarm" | "owner"> | null>;
  /** Returns a function that returns the task files on which a given worker depends. */
  taskDependencies(): Promise<(record: ContainerRecord) => readonly string[]>;
  /**
   * Calls `onChange` once immediately, and then whenever the swarm's state may have changed, until the signal
   * aborts.
   */
  watchState(onChange: () => void, signal: AbortSignal): Promise<void>;
  /**
   * Removes what workers left behind, such as containers and volumes, and owns the swarm meanwhile. With
   * `dryRun`, changes nothing.
   */
  cleanup(
    request: CleanupRequest,
    onStep: (step: string) => void,
    signal: AbortSignal,
  ): Promise<CleanUpResult>;
}

/** Operations that show what a swarm's workers have done. */
export interface ReviewOperations {
  /**
   * Yields the events from the event log, the oldest first. With `follow`, continues with new events until
   * the signal aborts.
   */
  events(
    words: EventSelection & { readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<KeptEvent>>;
  /** Returns the summary of this worktree's swarm; throws STATE_MISSING if there is none. */
  summary(): Promise<SwarmSummary>;
  /**
   * Runs the user's notification command. Resolves with an error message if the command failed, otherwise
   * with null.
   */
  notify(command: string, occasion: NoticeReason): Promise<string | null>;
  /** Returns the changes to the repository's files that one worker made. */
  diff(worker: string): Promise<WorkerDiff>;
}

/** The changes that one worker made, as far as swarm has imported them into the repository. */
export type WorkerDiff =
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & { readonly kind: "nothing" })
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & {
      readonly kind: "work";
      readonly commit: string;
      /**
       * Yields the changes as git prints them: as a patch, or, if `stat` is true, as a list of changed files
       * with line counts.
       */
      patch(stat: boolean, signal: AbortSignal): AsyncIterable<Uint8Array>;
      changes(
        signal: AbortSignal,
      ): Promise<{ readonly changes: WorkChanges; readonly sensitive: SensitiveChanges }>;
    });

/** Operations on single sandboxes, which do not belong to a swarm. */
export interface SandboxOperations {
  up(
    words: {
      readonly specFile: string | null;
      readonly allowed: readonly SandboxDanger["permission"][];
      readonly autoDestroy: boolean;
    },
    onStep: (step: string) => void,
    signal: AbortSignal,
  ): Promise<CreatedSandbox>;
  run(
    words: { readonly file: string; readonly sandbox: string | null; readonly onOutput: TakeOutput },
    signal: AbortSignal,
  ): Promise<TaskRunResult>;
  exec(
    words: {
      readonly command: readonly string[];
      readonly sandbox: string | null;
      readonly input?: AsyncIterable<Uint8Array>;
      readonly onOutput: TakeOutput;
    },
    signal: AbortSignal,
  ): Promise<CommandResult>;
  copy(request: CopyRequest, signal: AbortSignal): Promise<CopyRequest>;
  logs(
    words: { readonly sandbox: string | null; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  list(): Promise<ListedSandboxes>;
  stats(
    sandbox: string | null,
    signal: AbortSignal,
  ): Promise<ContainerStats & { readonly diskBytes: number | null }>;
  destroy(
    words: { readonly sandbox: string | null; readonly all: boolean; readonly purge: boolean },
    onStep: (step: string) => void,
  ): Promise<SandboxRecord[]>;
}

type TakeOutput = (chunk: OutputChunk) => Promise<void>;

/** Creates the operations for one command. Its flags override settings. */
export type CreateCommandOperations = (flags: SettingsFile) => CommandOperations;
