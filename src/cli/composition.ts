import type { AdapterMessage } from "../domain/acp-messages.ts";
import type { DoctorReport } from "../domain/generated/doctor.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SwarmPlan } from "../domain/plan.ts";
import type { SandboxDanger } from "../domain/sandbox-spec.ts";
import type { ExplainedSetting, SettingsFile } from "../domain/settings.ts";
import type { ContainerChange, ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
import type { ImageOperations } from "../image/image-operations.ts";
import type { ContainerStats, OutputChunk } from "../ports/containers.ts";
import type { PrivateEngine } from "../ports/private-engine.ts";
import type { BroughtUp } from "../sandbox/bring-up.ts";
import type { CopyWords } from "../sandbox/copy-files.ts";
import type { ListedSandboxes } from "../sandbox/list-sandboxes.ts";
import type { CommandResult } from "../sandbox/run-command.ts";
import type { RanTask } from "../sandbox/run-task.ts";
import type { CheckedState } from "../swarm/check-state.ts";
import type { InitializedFile } from "../swarm/init-project.ts";
import type { Repair } from "../swarm/repair-state.ts";
import type { SwarmEvent, Worker } from "../swarm/swarm-deps.ts";
import type { FileToTrust } from "../swarm/trust-files.ts";

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
  sandboxes(): Promise<SandboxOperations>;
  images(): Promise<ImageOperations>;
  swarm(): SwarmOperations;
}

/** Which task files are to be carried out. */
export interface StartWords extends PlanWords {}

/** How a swarm is watched and ended by whoever started it. */
export interface SwarmReport {
  readonly planned: (plan: SwarmPlan) => void;
  readonly onStep: (step: string) => void;
  readonly tell: (event: SwarmEvent) => void;
  readonly onMessage: (worker: Worker, message: AdapterMessage) => void;
  /** Aborted with a `Halt`: no worker is begun any more, and agents are asked to stop. */
  readonly halt: AbortSignal;
  /** Aborted when everything is to be left as it is. */
  readonly signal: AbortSignal;
}

/** What commands do with a swarm. */
export interface SwarmOperations {
  /** Null when there is nothing to carry out. */
  start(words: StartWords, report: SwarmReport): Promise<SwarmState | null>;
  resume(report: SwarmReport): Promise<SwarmState>;
}

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
