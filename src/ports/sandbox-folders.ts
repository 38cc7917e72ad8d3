import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SandboxSummary } from "../domain/generated/sandbox-summary.ts";
import type { OutputChunk } from "./containers.ts";
import type { Lock } from "./lock.ts";

/** A line of a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** What is left of a sandbox that was destroyed. */
export interface DestroyedSandbox {
  readonly id: string;
  readonly sandbox: string;
  readonly status: SandboxRecord["status"];
  readonly createdAt: string;
  readonly destroyedAt: string;
}

export interface InputFile {
  /** Below the folder that globs begin in, with `/`. */
  readonly path: string;
  /** Where it really lies. */
  readonly from: string;
}

/** The files of a sandbox's `outputs/`, as they lie here now. */
export interface CollectedOutputs {
  /** The first of them, in the order of their names. */
  readonly files: readonly string[];
  readonly more: number;
  /** Of the expected ones, those that are not among all of them. */
  readonly missing: readonly string[];
}

/** Takes what a task writes, up to a limit for each stream, and remembers the order. */
export interface OutputLog extends AsyncDisposable {
  write(chunk: OutputChunk): Promise<void>;
  /** Whether more came than was kept. */
  readonly isCut: boolean;
}

/** `.aimi/sandboxes/`: a folder for each sandbox, and a line for each that was destroyed. */
export interface SandboxFolders {
  /** Where it is, for people. */
  readonly root: string;
  /** The records that are there, newest first; what does not parse is told and left alone. */
  list(): Promise<{ readonly records: SandboxRecord[]; readonly unreadable: string[] }>;
  /** One record as it is now; null when there is none, or none that can be used. */
  read(id: string): Promise<SandboxRecord | null>;
  /** Makes a folder whose name nobody has yet, with its spec and the inputs that were found. */
  make(id: string, content: { readonly spec: string; readonly inputs: readonly InputFile[] }): Promise<void>;
  write(record: SandboxRecord): Promise<void>;
  tell(id: string, event: SandboxEvent): Promise<void>;
  /** Begins the logs of a task anew. */
  openOutput(id: string): Promise<OutputLog>;
  /** What was written, in the order in which it came. */
  readOutput(
    id: string,
    options: { readonly follow: boolean },
    signal?: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  writeSummary(summary: SandboxSummary): Promise<void>;
  /** A path for a folder that will take the place of another one. */
  pathFor(id: string, name: string): string;
  /** Puts what was collected in its place: `work/`, or the files of `outputs/` beside the logs. */
  replaceWork(id: string, collected: string): Promise<void>;
  replaceOutputs(id: string, collected: string, expected: readonly string[]): Promise<CollectedOutputs>;
  addDestroyed(line: DestroyedSandbox): Promise<void>;
  findDestroyed(id: string): Promise<DestroyedSandbox | null>;
  /** Removes the copies of inputs and of the working folder; with `everything`, the outputs too. */
  clear(id: string, options: { readonly everything: boolean }): Promise<void>;
  lockOf(id: string): Promise<Lock>;
  /** The files that globs mean, below the folder that the command was started in. */
  findInputs(patterns: readonly string[]): Promise<InputFile[]>;
}
