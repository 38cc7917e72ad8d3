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
import type { BroughtUp } from "../sandbox/bring-up.ts";
import type { CopyWords } from "../sandbox/copy-files.ts";
import type { ListedSandboxes } from "../sandbox/list-sandboxes.ts";
import type { CommandResult } from "../sandbox/run-command.ts";
import type { RanTask } from "../sandbox/run-task.ts";
import type { CheckedState } from "../swarm/check-state.ts";
import type { CleanedUp } from "../swarm/clean-up.ts";
import type { InitializedFile } from "../swarm/init-project.ts";
import type { MadeTask, TaskWords } from "../swarm/make-task.ts";
import type { Repair } from "../swarm/repair-state.ts";
import type { SteeringWish } from "../swarm/steer-unowned.ts";
import type { SwarmEvent, Worker } from "../swarm/swarm-deps.ts";
import type { FileToTrust } from "../swarm/trust-files.ts";
import type { Waited, WaitedFor } from "../swarm/wait-for-workers.ts";

export interface PlanWords {
  readonly files: readonly string[];
  readonly again: boolean;
  readonly strict: boolean;
}

/** Everything that commands can do, each loaded when it is first used. */
export interface Composition {
  plan(words: PlanWords): Promise<SwarmPlan>;
  explainSettings(): Promise<ExplainedSetting[]>;
  init(): Promise<InitializedFile[]>;
  /** Writes a task file with a prompt as its only story, or finds the one that it wrote before. */
  makeTask(words: TaskWords): Promise<MadeTask>;
  findFilesToTrust(): Promise<FileToTrust[]>;
  trust(files: readonly FileToTrust[]): Promise<void>;
  /** The swarm's state as the file has it; null when there is none. */
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

/** Nights that come by themselves. */
export interface ScheduleOperations {
  /** The line that a crontab would get; nothing is written. */
  plan(night: Pick<ScheduledNight, "at" | "days" | "words">): Promise<string>;
  /** Whether the crontab was changed. */
  install(line: string): Promise<boolean>;
  /** The lines of this project that were there. */
  remove(): Promise<readonly string[]>;
  list(): Promise<readonly { readonly line: string; readonly isHere: boolean }[]>;
}

/** What can be done with the plugin for Claude Code. */
export interface PluginOperations {
  /** Makes the plugin's folder, or brings it up to date. */
  path(): Promise<string>;
  /** What Claude Code and the hook itself say of it. */
  validate(): Promise<PluginReport>;
  /** Gives it to the `claude` on the path. Again is harmless. */
  install(onStep: (step: string) => void): Promise<InstalledPlugin>;
}

/** How an owner goes about its swarm. */
export interface OwnWords {
  readonly policy: RetryPolicy;
  /** Names of workers that failed or stopped and are to be tried again. */
  readonly retry?: readonly string[];
  /** The branch that they are to go on from, with what they made; `integration` for the swarm's own. */
  readonly onto?: string;
  /** Archive a swarm that is there, finished or not, and begin anew. */
  readonly force?: boolean;
  /** What a new swarm is to be called. */
  readonly swarmId?: string;
}

/** Which task files are to be carried out. */
export interface StartWords extends PlanWords, OwnWords {
  /** Beside a living owner, leave the work to it. */
  readonly append: boolean;
}

/** How a swarm is watched and ended by whoever started it. */
export interface SwarmReport {
  readonly planned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly tell: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Told once the records are written down. */
  readonly begun: (state: SwarmState) => void;
  /** Aborted with a `Halt`: no worker is begun any more, and agents are asked to stop. */
  readonly halt: AbortSignal;
  /** Aborted when containers are to be stopped at once. */
  readonly stopNow: AbortSignal;
  /** Aborted when everything is to be left as it is. */
  readonly signal: AbortSignal;
}

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The file that has its words. */
  readonly log: string;
}

export type Started =
  | { readonly kind: "nothing" }
  | { readonly kind: "appended"; readonly state: SwarmState; readonly files: readonly string[] }
  | { readonly kind: "carried out"; readonly state: SwarmState };

export interface Retried {
  readonly kind: "nothing" | "asked" | "carried out";
  readonly state: SwarmState;
}

/** What commands do with a swarm. */
export interface SwarmOperations {
  start(words: StartWords, report: SwarmReport): Promise<Started>;
  resume(words: OwnWords, report: SwarmReport): Promise<SwarmState>;
  /** Tries failed and stopped workers again, or asks the owner to. */
  retry(
    words: OwnWords & { readonly workers: readonly string[]; readonly onto?: string },
    report: SwarmReport,
  ): Promise<Retried>;
  /** Asks the owner, or does it where there is none; of every worker where none is named. */
  steer(
    wish: SteeringWish,
    workers: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly by: "owner" | "us" | "nobody"; readonly state: SwarmState }>;
  /** Leaves a command to a process that goes on after this one, and waits until its swarm has begun. */
  detach(words: readonly string[]): Promise<DetachedOwner>;
}

/** What is to be brought together. */
export interface MergeWords {
  /** All where none is named. */
  readonly workers: readonly string[];
  /** The branch; null for the swarm's own. */
  readonly into: string | null;
  readonly check:
    | { readonly kind: "asked"; readonly command: string | null }
    /** By the settings, or as the repository tests itself. */
    | { readonly kind: "recognised" };
}

export interface MergeOperations {
  /** Merges results onto a branch, as the swarm's owner; no working tree is touched. */
  merge(words: MergeWords, onStep: (step: string) => void, signal: AbortSignal): Promise<MergeReport>;
}

/** What commands learn about a swarm without changing anything. */
export interface WatchOperations extends ReviewOperations {
  /** The swarm of this worktree; STATE_MISSING where there is none. */
  state(): Promise<SwarmState>;
  /** What the host's journals have of a worker; with `follow` also what comes, until it has ended or nobody carries it out. */
  journals(
    words: { readonly worker: string; readonly attempt: number | null; readonly follow: boolean },
    signal: AbortSignal,
  ): AsyncIterable<JournalledMessage>;
  /** What the adapter of a running worker tells people: its last lines, and then what comes until its container ends. */
  tail(
    worker: ContainerRecord,
    options: { readonly last: number },
    signal: AbortSignal,
  ): AsyncIterable<string>;
  wait(words: WaitedFor, signal: AbortSignal): Promise<Waited>;
  /** A terminal in the sandbox of a running worker, as the agent's user. */
  openTerminal(
    worker: ContainerRecord,
    words: TerminalSize & Omit<AgentTerminal, "term">,
    signal: AbortSignal,
  ): Promise<AgentSession>;
  /** Runs a command there without a terminal. */
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

/** What is to be taken away. */
export interface CleanupWords {
  /** All where none is named. */
  readonly workers: readonly string[];
  /** Also the files of archived swarms. */
  readonly all: boolean;
  /** Also what is not in the repository. */
  readonly discard: boolean;
  /** Also images, the private engine and the user's state folder. */
  readonly everything: boolean;
  readonly dryRun: boolean;
}

/** What commands do to keep a swarm's records and its engine in order. */
export interface UpkeepOperations {
  /** The swarm as it is, with its records corrected where nobody acts on it; null where there is none. */
  status(): Promise<SwarmStatus | null>;
  /** What is written down, and who acts on it, without a question to the engine. */
  glance(): Promise<Pick<SwarmStatus, "swarm" | "owner"> | null>;
  /** Tells the file names of the tasks that a worker starts from. */
  taskDependencies(): Promise<(record: ContainerRecord) => readonly string[]>;
  /** Calls back at once and whenever the state may have changed, until the signal is aborted. */
  watchState(onChange: () => void, signal: AbortSignal): Promise<void>;
  /** Takes away what workers left, as its owner; with `dryRun` it only looks. */
  cleanup(words: CleanupWords, onStep: (step: string) => void, signal: AbortSignal): Promise<CleanedUp>;
}

/** What commands learn about what a swarm did. */
export interface ReviewOperations {
  /** What was decided and done, the oldest first; with `follow`, until the signal is aborted. */
  events(
    words: EventChoice & { readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<KeptEvent>>;
  /** What the swarm of this worktree did, and what to do next; STATE_MISSING where there is none. */
  summary(): Promise<SwarmSummary>;
  /** Tells a command of the user's that the swarm has come to its end; why that failed, or null. It harms nothing. */
  notify(command: string, occasion: Occasion): Promise<string | null>;
  /** What one worker changed. */
  diff(worker: string): Promise<WorkerDiff>;
}

/** What a worker changed, as far as it was brought in. */
export type WorkerDiff =
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & { readonly kind: "nothing" })
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & {
      readonly kind: "work";
      readonly commit: string;
      /** As git says it; with `stat`, only which files and how much of them. */
      patch(stat: boolean, signal: AbortSignal): AsyncIterable<Uint8Array>;
      changes(
        signal: AbortSignal,
      ): Promise<{ readonly changes: WorkChanges; readonly sensitive: SensitiveChanges }>;
    });

/** What commands do with single sandboxes. */
export interface SandboxOperations {
  up(
    words: {
      readonly specFile: string | null;
      readonly allowed: readonly SandboxDanger["permission"][];
      readonly autoDestroy: boolean;
    },
    onStep: (step: string) => void,
    signal: AbortSignal,
  ): Promise<BroughtUp>;
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
  copy(words: CopyWords, signal: AbortSignal): Promise<CopyWords>;
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

/** Makes the composition for one command, with the settings that its flags carry. */
export type Compose = (flags: SettingsFile) => Composition;
