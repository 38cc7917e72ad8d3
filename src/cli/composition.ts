import type { AdapterMessage, JournalledMessage } from "../domain/acp-messages.ts";
import type { EventSelection } from "../domain/event-filter.ts";
import type { DoctorReport } from "../domain/generated/doctor.ts";
import type { KeptEvent } from "../domain/generated/event.ts";
import type { MergeReport } from "../domain/generated/merge.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SwarmSummary } from "../domain/generated/summary.ts";
import type { WorkDiff } from "../domain/generated/work-diff.ts";
import type { NightlySchedule } from "../domain/night-schedule.ts";
import type { NoticeReason } from "../domain/notice.ts";
import type { SwarmPlan } from "../domain/plan.ts";
import type { RetryPolicy } from "../domain/retry-policy.ts";
import type { SandboxDanger } from "../domain/sandbox-spec.ts";
import type { ExplainedSetting, SettingsFile } from "../domain/settings.ts";
import type { ContainerRecord, RecordChange, SwarmState } from "../domain/swarm-state.ts";
import type { SwarmStatus } from "../domain/swarm-status.ts";
import type { ImageOperations } from "../image/image-operations.ts";
import type { InstalledPlugin, PluginReport } from "../ports/claude-code.ts";
import type { ContainerStats, OutputChunk, TerminalSize } from "../ports/containers.ts";
import type { PrivateEngine } from "../ports/private-engine.ts";
import type { SensitiveChanges, WorkChanges } from "../ports/work-repository.ts";
import type { AgentSession, AgentTerminal } from "../sandbox/agent-shell.ts";
import type { CreatedSandbox } from "../sandbox/bring-up.ts";
import type { CopyRequest } from "../sandbox/copy-files.ts";
import type { ListedSandboxes } from "../sandbox/list-sandboxes.ts";
import type { CommandResult } from "../sandbox/run-command.ts";
import type { TaskRunResult } from "../sandbox/run-task.ts";
import type { CheckedState } from "../swarm/check-state.ts";
import type { CleanUpResult } from "../swarm/clean-up.ts";
import type { InitializedFile } from "../swarm/init-project.ts";
import type { CreatedTask, NewTaskRequest } from "../swarm/make-task.ts";
import type { RepairResult } from "../swarm/repair-state.ts";
import type { SteeringCommand } from "../swarm/steer-unowned.ts";
import type { SwarmEvent, Worker } from "../swarm/swarm-deps.ts";
import type { FileToTrust } from "../swarm/trust-files.ts";
import type { WaitRequest, WaitResult } from "../swarm/wait-for-workers.ts";

export interface PlanRequest {
  readonly files: readonly string[];
  readonly again: boolean;
  readonly strict: boolean;
}

/**
 * The operations that the commands call. swarm loads an operation's modules when a command first calls it.
 */
export interface CommandOperations {
  plan(request: PlanRequest): Promise<SwarmPlan>;
  explainSettings(): Promise<ExplainedSetting[]>;
  init(): Promise<InitializedFile[]>;
  /**
   * Returns a task file whose only story is the prompt. Writes the file unless an earlier call with the same
   * prompt has written it.
   */
  makeTask(request: NewTaskRequest): Promise<CreatedTask>;
  findFilesToTrust(): Promise<FileToTrust[]>;
  trust(files: readonly FileToTrust[]): Promise<void>;
  /** Returns the recorded state of the swarm; null if there is none. */
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

/** Operations that schedule swarms with cron. */
export interface ScheduleOperations {
  /** Renders the crontab line for a schedule. Writes nothing. */
  plan(night: Pick<NightlySchedule, "at" | "days" | "commandArguments">): Promise<string>;
  /** Writes the project's line to the crontab. Returns false if the crontab has the same line already. */
  install(line: string): Promise<boolean>;
  /** Removes this project's lines from the crontab and returns them. */
  remove(): Promise<readonly string[]>;
  list(): Promise<readonly { readonly line: string; readonly isHere: boolean }[]>;
}

/** Operations for the Claude Code plugin. */
export interface PluginOperations {
  /** Creates or updates the plugin's folder and returns the folder's path. */
  path(): Promise<string>;
  /** Lets Claude Code validate the plugin's files, and tests the plugin's hook with sample tool calls. */
  validate(): Promise<PluginReport>;
  /** Installs the plugin into the `claude` on the PATH. A repeated call does no harm. */
  install(onStep: (step: string) => void): Promise<InstalledPlugin>;
}

/** A request to become the owner of a swarm. */
export interface OwnerRequest {
  readonly policy: RetryPolicy;
  /** The names of the failed or stopped workers to retry. */
  readonly retry?: readonly string[];
  /**
   * The branch to merge into the retried workers' results before the retry. `integration` is the swarm's own
   * branch.
   */
  readonly onto?: string;
  /** Whether to archive the existing swarm, even an unfinished one, and begin a new swarm. */
  readonly force?: boolean;
  /** The ID to give to a new swarm. */
  readonly swarmId?: string;
}

/** A request to run task files. */
export interface StartRequest extends PlanRequest, OwnerRequest {
  /**
   * Whether to pass the task files to the swarm's running owner. Without an owner, this process runs them.
   */
  readonly append: boolean;
}

/**
 * The connection between the owner and the command that runs the owner. The owner calls the callbacks, and
 * the command ends the swarm with the abort signals.
 */
export interface SwarmRunCallbacks {
  readonly onPlanned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Called when the state file contains the workers' records. */
  readonly onBegun: (state: SwarmState) => void;
  /** Aborts with a `HaltRequest` as its reason. The owner then starts no more workers and asks agents to stop. */
  readonly halt: AbortSignal;
  /** Aborts to stop all containers at once. */
  readonly stopNow: AbortSignal;
  /** Aborts to end the owner only. Containers and records stay as they are. */
  readonly signal: AbortSignal;
}

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The path of the file with the owner's output. */
  readonly log: string;
}

export type StartResult =
  | { readonly kind: "nothing"; readonly plan: SwarmPlan; readonly files: readonly string[] }
  | { readonly kind: "appended"; readonly state: SwarmState; readonly files: readonly string[] }
  | { readonly kind: "carried out"; readonly state: SwarmState };

export interface RetryResult {
  readonly kind: "nothing" | "asked" | "carried out";
  readonly state: SwarmState;
}

/** Operations that run and steer a swarm. */
export interface SwarmOperations {
  start(request: StartRequest, report: SwarmRunCallbacks): Promise<StartResult>;
  resume(request: OwnerRequest, report: SwarmRunCallbacks): Promise<SwarmState>;
  /** Retries failed and stopped workers, or asks the running owner to do so. */
  retry(
    request: OwnerRequest & { readonly workers: readonly string[]; readonly onto?: string },
    report: SwarmRunCallbacks,
  ): Promise<RetryResult>;
  /**
   * Sends a command to the owner, or applies the command if no owner runs. An empty `workers` means all
   * workers.
   */
  steer(
    command: SteeringCommand,
    workers: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly by: "owner" | "us" | "none"; readonly state: SwarmState }>;
  /** Runs a swarm command in a background process, and waits until the command's swarm has begun. */
  detach(words: readonly string[]): Promise<DetachedOwner>;
}

/** A request to merge results. */
export interface MergeRequest {
  /** The names of the workers; empty for all workers. */
  readonly workers: readonly string[];
  /** The name of the target branch; null for the swarm's own integration branch. */
  readonly into: string | null;
  readonly check:
    | { readonly kind: "asked"; readonly command: string | null }
    /** Runs the check of the setting `verify`, or else the repository's own tests. */
    | { readonly kind: "recognised" };
}

export interface MergeOperations {
  /**
   * Merges results onto a branch and changes no working tree. Takes ownership of the swarm during the merge.
   */
  merge(request: MergeRequest, onStep: (step: string) => void, signal: AbortSignal): Promise<MergeReport>;
}

/** Operations that observe a swarm without changing it. */
export interface WatchOperations extends ReviewOperations {
  /** Returns the state of this worktree's swarm; throws STATE_MISSING if there is none. */
  state(): Promise<SwarmState>;
  /**
   * Yields a worker's messages from the host's journals. With `follow`, continues until the worker ends or no
   * owner runs.
   */
  journals(
    words: { readonly worker: string; readonly attempt: number | null; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<JournalledMessage>;
  /** Yields the last log lines of a running worker's adapter, then new lines until the container ends. */
  tail(
    worker: ContainerRecord,
    options: { readonly last: number },
    signal: AbortSignal,
  ): AsyncIterable<string>;
  wait(request: WaitRequest, signal: AbortSignal): Promise<WaitResult>;
  /** Opens a terminal in the sandbox of a running worker, as the agent's user. */
  openTerminal(
    worker: ContainerRecord,
    words: TerminalSize & Omit<AgentTerminal, "term">,
    signal: AbortSignal,
  ): Promise<AgentSession>;
  /** Runs a command without a terminal in the sandbox of a running worker. */
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

/** A request to clean up what swarms left behind. */
export interface CleanupRequest {
  /** The names of the workers; empty for all workers. */
  readonly workers: readonly string[];
  /** Whether to remove the files of archived swarms, too. */
  readonly all: boolean;
  /** Whether to remove even work that the repository does not have. */
  readonly discard: boolean;
  /** Whether to remove images, the private engine and the user's state folder, too. */
  readonly everything: boolean;
  readonly dryRun: boolean;
}

/** Operations that keep a swarm's records consistent with the engine. */
export interface StatusAndCleanupOperations {
  /**
   * Compares the swarm's records with the engine, and corrects the records if no owner runs. Returns null if
   * no swarm is recorded.
   */
  status(): Promise<SwarmStatus | null>;
  /** Returns the recorded state and the owner, without asking the engine. */
  recordedStatus(): Promise<Pick<SwarmStatus, "swarm" | "owner"> | null>;
  /** Returns a function that looks up the task files on which a worker depends. */
  taskDependencies(): Promise<(record: ContainerRecord) => readonly string[]>;
  /** Calls `onChange` at once, and whenever the state may have changed, until the signal aborts. */
  watchState(onChange: () => void, signal: AbortSignal): Promise<void>;
  /**
   * Removes what workers left behind, and takes ownership of the swarm meanwhile. With `dryRun`, changes
   * nothing.
   */
  cleanup(
    request: CleanupRequest,
    onStep: (step: string) => void,
    signal: AbortSignal,
  ): Promise<CleanUpResult>;
}

/** Operations that review a swarm's work. */
export interface ReviewOperations {
  /** Yields the events from the log, oldest first. With `follow`, continues until the signal aborts. */
  events(
    words: EventSelection & { readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<KeptEvent>>;
  /** Returns the summary of this worktree's swarm; throws STATE_MISSING if there is none. */
  summary(): Promise<SwarmSummary>;
  /**
   * Runs the user's notification command. Resolves with an error message if the command failed, else with
   * null.
   */
  notify(command: string, occasion: NoticeReason): Promise<string | null>;
  /** Returns the changes that one worker made. */
  diff(worker: string): Promise<WorkerDiff>;
}

/** The changes of a worker that swarm imported into the repository. */
export type WorkerDiff =
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & { readonly kind: "nothing" })
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & {
      readonly kind: "work";
      readonly commit: string;
      /** Streams git's patch. If `stat` is true, streams only the changed files with line counts. */
      patch(stat: boolean, signal: AbortSignal): AsyncIterable<Uint8Array>;
      changes(
        signal: AbortSignal,
      ): Promise<{ readonly changes: WorkChanges; readonly sensitive: SensitiveChanges }>;
    });

/** Operations on single sandboxes. */
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

/** Creates the operations for one command, with the settings that the command's flags set. */
export type CreateCommandOperations = (flags: SettingsFile) => CommandOperations;
