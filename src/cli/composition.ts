import type { AdapterMessage, JournalledMessage } from "../domain/acp-messages.ts";
import type { EventChoice } from "../domain/event-filter.ts";
import type { DoctorReport } from "../domain/generated/doctor.ts";
import type { KeptEvent } from "../domain/generated/event.ts";
import type { MergeReport } from "../domain/generated/merge.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SwarmSummary } from "../domain/generated/summary.ts";
import type { WorkDiff } from "../domain/generated/work-diff.ts";
import type { ScheduledNight } from "../domain/night-schedule.ts";
import type { Occasion } from "../domain/notice.ts";
import type { SwarmPlan } from "../domain/plan.ts";
import type { RetryPolicy } from "../domain/retry-policy.ts";
import type { SandboxDanger } from "../domain/sandbox-spec.ts";
import type { ExplainedSetting, SettingsFile } from "../domain/settings.ts";
import type { ContainerChange, ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
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
import type { RanTask } from "../sandbox/run-task.ts";
import type { CheckedState } from "../swarm/check-state.ts";
import type { CleanedUp } from "../swarm/clean-up.ts";
import type { InitializedFile } from "../swarm/init-project.ts";
import type { MadeTask, NewTaskRequest } from "../swarm/make-task.ts";
import type { Repair } from "../swarm/repair-state.ts";
import type { SteeringCommand } from "../swarm/steer-unowned.ts";
import type { SwarmEvent, Worker } from "../swarm/swarm-deps.ts";
import type { FileToTrust } from "../swarm/trust-files.ts";
import type { WaitRequest, WaitResult } from "../swarm/wait-for-workers.ts";

export interface PlanRequest {
  readonly files: readonly string[];
  readonly again: boolean;
  readonly strict: boolean;
}

/** The use cases of all commands, each loaded on first use. */
export interface Composition {
  plan(request: PlanRequest): Promise<SwarmPlan>;
  explainSettings(): Promise<ExplainedSetting[]>;
  init(): Promise<InitializedFile[]>;
  /** Writes a task file with a prompt as its only story, or finds the one from an earlier call. */
  makeTask(request: NewTaskRequest): Promise<MadeTask>;
  findFilesToTrust(): Promise<FileToTrust[]>;
  trust(files: readonly FileToTrust[]): Promise<void>;
  /** The swarm's state as recorded in its file; null when there is none. */
  findState(): Promise<SwarmState | null>;
  checkState(): Promise<CheckedState>;
  initState(options: { force: boolean }): Promise<SwarmState>;
  addContainer(
    container: Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName" | "containerId">,
  ): Promise<ContainerRecord>;
  updateContainer(name: string, change: ContainerChange): Promise<ContainerRecord>;
  removeContainer(name: string): Promise<void>;
  cleanupState(): Promise<number>;
  repairState(rebind: "moved" | "copied" | null): Promise<Repair>;
  doctor(onStep: (step: string) => void, signal: AbortSignal): Promise<DoctorReport>;
  engine(): Promise<PrivateEngine>;
  plugin(): PluginOperations;
  sandboxes(): Promise<SandboxOperations>;
  images(): Promise<ImageOperations>;
  swarm(): SwarmOperations;
  watch(): WatchOperations;
  upkeep(): UpkeepOperations;
  merging(): MergeOperations;
  schedule(): ScheduleOperations;
}

/** Scheduled swarms. */
export interface ScheduleOperations {
  /** The crontab line for a night; writes nothing. */
  plan(night: Pick<ScheduledNight, "at" | "days" | "words">): Promise<string>;
  /** Writes the project's line to the crontab; false when the same line is there already. */
  install(line: string): Promise<boolean>;
  /** Removes this project's lines; returns them. */
  remove(): Promise<readonly string[]>;
  list(): Promise<readonly { readonly line: string; readonly isHere: boolean }[]>;
}

/** Use cases of the plugin for Claude Code. */
export interface PluginOperations {
  /** Creates or updates the plugin's folder; returns its path. */
  path(): Promise<string>;
  /** Validates the plugin with Claude Code, and replays calls through its hook. */
  validate(): Promise<PluginReport>;
  /** Installs the plugin into the `claude` on the PATH. Idempotent. */
  install(onStep: (step: string) => void): Promise<InstalledPlugin>;
}

/** The request to own a swarm. */
export interface OwnRequest {
  readonly policy: RetryPolicy;
  /** The names of failed or stopped workers to retry. */
  readonly retry?: readonly string[];
  /** The branch to merge into the retried workers' results; `integration` for the swarm's own. */
  readonly onto?: string;
  /** Whether to archive an existing swarm, finished or not, and begin a new one. */
  readonly force?: boolean;
  /** The id of a new swarm. */
  readonly swarmId?: string;
}

/** The request to run task files. */
export interface StartRequest extends PlanRequest, OwnRequest {
  /** Whether to leave the work to a running owner. */
  readonly append: boolean;
}

/** Callbacks to the command that started a swarm, and the signals by which the command ends it. */
export interface SwarmReport {
  readonly planned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly emit: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Called once the state file has the workers' records. */
  readonly begun: (state: SwarmState) => void;
  /** Aborts with a `Halt`: the owner starts no more workers, and asks agents to stop. */
  readonly halt: AbortSignal;
  /** Aborts to stop containers at once. */
  readonly stopNow: AbortSignal;
  /** Aborts to leave everything as it is. */
  readonly signal: AbortSignal;
}

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The file with the owner's output. */
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

/** Use cases that run and steer a swarm. */
export interface SwarmOperations {
  start(request: StartRequest, report: SwarmReport): Promise<StartResult>;
  resume(request: OwnRequest, report: SwarmReport): Promise<SwarmState>;
  /** Retries failed and stopped workers, or asks the owner to. */
  retry(
    request: OwnRequest & { readonly workers: readonly string[]; readonly onto?: string },
    report: SwarmReport,
  ): Promise<RetryResult>;
  /** Sends a command to the owner, or applies it when none runs. No names mean all workers. */
  steer(
    command: SteeringCommand,
    workers: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly by: "owner" | "us" | "nobody"; readonly state: SwarmState }>;
  /** Runs a command in a background process, and waits until its swarm has begun. */
  detach(words: readonly string[]): Promise<DetachedOwner>;
}

/** The request to merge results. */
export interface MergeRequest {
  /** The workers' names; empty for all. */
  readonly workers: readonly string[];
  /** The target branch; null for the swarm's own. */
  readonly into: string | null;
  readonly check:
    | { readonly kind: "asked"; readonly command: string | null }
    /** The check from the settings, or else the repository's own tests. */
    | { readonly kind: "recognised" };
}

export interface MergeOperations {
  /** Merges results onto a branch, as the swarm's owner; no working tree is touched. */
  merge(request: MergeRequest, onStep: (step: string) => void, signal: AbortSignal): Promise<MergeReport>;
}

/** Use cases that observe a swarm without changing it. */
export interface WatchOperations extends ReviewOperations {
  /** The swarm of this worktree; throws STATE_MISSING when there is none. */
  state(): Promise<SwarmState>;
  /** A worker's messages in the host's journals; `follow` continues until the worker ends or no owner runs. */
  journals(
    words: { readonly worker: string; readonly attempt: number | null; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<JournalledMessage>;
  /** The log of a running worker's adapter: its last lines, then new ones until the container ends. */
  tail(
    worker: ContainerRecord,
    options: { readonly last: number },
    signal: AbortSignal,
  ): AsyncIterable<string>;
  wait(request: WaitRequest, signal: AbortSignal): Promise<WaitResult>;
  /** A terminal in the sandbox of a running worker, as the agent's user. */
  openTerminal(
    worker: ContainerRecord,
    words: TerminalSize & Omit<AgentTerminal, "term">,
    signal: AbortSignal,
  ): Promise<AgentSession>;
  /** Runs a command in a running worker's sandbox without a terminal. */
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

/** The request to clean up. */
export interface CleanupRequest {
  /** The workers' names; empty for all. */
  readonly workers: readonly string[];
  /** Whether to remove the files of archived swarms, too. */
  readonly all: boolean;
  /** Whether to remove work that is not in the repository, too. */
  readonly discard: boolean;
  /** Whether to remove images, the private engine and the user's state folder, too. */
  readonly everything: boolean;
  readonly dryRun: boolean;
}

/** Use cases that keep a swarm's records and its engine in order. */
export interface UpkeepOperations {
  /** The swarm compared with its engine, with corrected records if no owner runs; null without a swarm. */
  status(): Promise<SwarmStatus | null>;
  /** The recorded state and its owner, without asking the engine. */
  recordedStatus(): Promise<Pick<SwarmStatus, "swarm" | "owner"> | null>;
  /** Returns a lookup of the task files on which a worker depends. */
  taskDependencies(): Promise<(record: ContainerRecord) => readonly string[]>;
  /** Calls back at once and whenever the state may have changed, until the signal is aborted. */
  watchState(onChange: () => void, signal: AbortSignal): Promise<void>;
  /** Removes the workers' leftovers, as the swarm's owner; with `dryRun` it changes nothing. */
  cleanup(request: CleanupRequest, onStep: (step: string) => void, signal: AbortSignal): Promise<CleanedUp>;
}

/** Use cases that review a swarm's work. */
export interface ReviewOperations {
  /** The event log, oldest first; `follow` continues until the signal aborts. */
  events(
    words: EventChoice & { readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<KeptEvent>>;
  /** The summary of this worktree's swarm; throws STATE_MISSING when there is none. */
  summary(): Promise<SwarmSummary>;
  /** Runs the user's notification command; resolves with the reason of a failure, or null. */
  notify(command: string, occasion: Occasion): Promise<string | null>;
  /** The changes of one worker. */
  diff(worker: string): Promise<WorkerDiff>;
}

/** A worker's changes, as imported into the repository. */
export type WorkerDiff =
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & { readonly kind: "nothing" })
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & {
      readonly kind: "work";
      readonly commit: string;
      /** git's patch; with `stat`, only the changed files with line counts. */
      patch(stat: boolean, signal: AbortSignal): AsyncIterable<Uint8Array>;
      changes(
        signal: AbortSignal,
      ): Promise<{ readonly changes: WorkChanges; readonly sensitive: SensitiveChanges }>;
    });

/** Use cases of single sandboxes. */
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
  ): Promise<RanTask>;
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

/** Creates the composition for one command, with the settings given by its flags. */
export type Compose = (flags: SettingsFile) => Composition;
