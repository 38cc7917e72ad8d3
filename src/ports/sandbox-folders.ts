import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SandboxSummary } from "../domain/generated/sandbox-summary.ts";
import type { OutputChunk } from "./containers.ts";
import type { Lock } from "./lock.ts";

/** A line of a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** The record of a destroyed sandbox. */
export interface DestroyedSandbox {
  readonly id: string;
  readonly sandbox: string;
  readonly status: SandboxRecord["status"];
  readonly createdAt: string;
  readonly destroyedAt: string;
}

export interface InputFile {
  /** The path below the folder in which globs begin, with `/`. */
  readonly path: string;
  /** The path of the file, with links resolved. */
  readonly from: string;
}

/** The collected files of a sandbox's `outputs/` on the host. */
export interface CollectedOutputs {
  /** The first files, in the order of their names. */
  readonly files: readonly string[];
  readonly more: number;
  /** Expected files that were not collected. */
  readonly missing: readonly string[];
}

/** Stores the output of a task in order, up to a limit for each stream. */
export interface OutputLog extends AsyncDisposable {
  write(chunk: OutputChunk): Promise<void>;
  /** Whether output beyond the limit was dropped. */
  readonly isCut: boolean;
}

/** `.aimi/sandboxes/`: a folder for each sandbox, and a line for each destroyed one. */
export interface SandboxFolders {
  /** The path of the folder, for messages. */
  readonly root: string;
  /** All records, newest first, and the files that do not parse, which stay untouched. */
  list(): Promise<{ readonly records: SandboxRecord[]; readonly unreadable: string[] }>;
  /** The current record; null if there is none, or none that can be used. */
  read(id: string): Promise<SandboxRecord | null>;
  /** Makes the folder of a new sandbox, with its spec and its inputs; fails if the folder exists. */
  make(id: string, content: { readonly spec: string; readonly inputs: readonly InputFile[] }): Promise<void>;
  write(record: SandboxRecord): Promise<void>;
  logEvent(id: string, event: SandboxEvent): Promise<void>;
  /** Opens empty logs for a task. */
  openOutput(id: string): Promise<OutputLog>;
  /** The stored output, in its original order. */
  readOutput(
    id: string,
    options: { readonly follow: boolean },
    signal?: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  writeSummary(summary: SandboxSummary): Promise<void>;
  /** A path for a temporary folder that will replace another one. */
  pathFor(id: string, name: string): string;
  /** Replaces `work/`, or the files of `outputs/` next to the logs, by collected files. */
  replaceWork(id: string, collected: string): Promise<void>;
  replaceOutputs(id: string, collected: string, expected: readonly string[]): Promise<CollectedOutputs>;
  /** Tells other processes that a `destroy` ends this container, until it is disposed of. */
  markDestroying(id: string): Promise<AsyncDisposable>;
  isBeingDestroyed(id: string): Promise<boolean>;
  addDestroyed(line: DestroyedSandbox): Promise<void>;
  findDestroyed(id: string): Promise<DestroyedSandbox | null>;
  /** Removes the copies of inputs and of the working folder; with `everything`, the outputs, too. */
  clear(id: string, options: { readonly everything: boolean }): Promise<void>;
  lockOf(id: string): Promise<Lock>;
  /** The files that match the globs, below the folder in which the command was started. */
  findInputs(patterns: readonly string[]): Promise<InputFile[]>;
}
