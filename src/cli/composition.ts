import type { DoctorReport } from "../domain/generated/doctor.ts";
import type { SwarmPlan } from "../domain/plan.ts";
import type { ExplainedSetting, SettingsFile } from "../domain/settings.ts";
import type { ContainerChange, ContainerRecord, SwarmState } from "../domain/swarm-state.ts";
import type { PrivateEngine } from "../ports/private-engine.ts";
import type { CheckedState } from "../swarm/check-state.ts";
import type { InitializedFile } from "../swarm/init-project.ts";
import type { Repair } from "../swarm/repair-state.ts";
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
}

/** Makes the composition for one command, with the settings that its flags carry. */
export type Compose = (flags: SettingsFile) => Composition;
