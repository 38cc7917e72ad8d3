import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SandboxSummary } from "../domain/generated/sandbox-summary.ts";
import type { OutputChunk } from "./containers.ts";
import type { Lock } from "./lock.ts";

/** A line of a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** The record that remains of a destroyed sandbox. */
export interface DestroyedSandbox {
  readonly id: string;
  readonly sandbox: string;
  readonly status: SandboxRecord["status"];
  readonly createdAt: string;
  readonly destroyedAt: string;
}

export interface InputFile {
  /**
   * The input file's path relative to the folder in which the user ran the command, with `/` as separator.
   */
  readonly path: string;
  /** The input file's absolute path on this machine, with symbolic links resolved. */
  readonly from: string;
}

/** The files that swarm collected from a sandbox into `outputs/` on the host. */
export interface CollectedOutputs {
  /** The names of the first collected files, in alphabetical order. `more` counts the rest. */
  readonly files: readonly string[];
  readonly more: number;
  /** The paths that the user expected, and that were not collected. */
  readonly missing: readonly string[];
}

/** A log that stores the output of a task in order, up to a limit per stream. */
export interface OutputLog extends AsyncDisposable {
  write(chunk: OutputChunk): Promise<void>;
  /** Whether the log dropped output beyond the limit. */
  readonly isCut: boolean;
}

/** The folder `.aimi/sandboxes/`: one folder per sandbox, and one line in a file per destroyed sandbox. */
export interface SandboxFolders {
  /** The path of `.aimi/sandboxes/`, for messages. */
  readonly root: string;
  /** Lists the valid records, newest first, and an error message for each invalid one, whose file stays as it is. */
  list(): Promise<{ readonly records: SandboxRecord[]; readonly unreadable: string[] }>;
  /** Reads a sandbox's record; null if it is missing or invalid. */
  read(id: string): Promise<SandboxRecord | null>;
  /**
   * Makes the folder of a new sandbox and writes the spec and the inputs to it. Throws if the folder exists.
   */
  make(id: string, content: { readonly spec: string; readonly inputs: readonly InputFile[] }): Promise<void>;
  write(record: SandboxRecord): Promise<void>;
  logEvent(id: string, event: SandboxEvent): Promise<void>;
  /** Empties and opens the output logs of a sandbox for a new task. */
  openOutput(id: string): Promise<OutputLog>;
  /** Reads the stored output of the sandbox's last task, in its original order. */
  readOutput(
    id: string,
    options: { readonly follow: boolean },
    signal?: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  writeSummary(summary: SandboxSummary): Promise<void>;
  /** Returns a path for a temporary folder, which will later replace another folder. */
  pathFor(id: string, name: string): string;
  /**
   * Replaces `work/` by collected files. `replaceOutputs` does the same for `outputs/`, but keeps the logs in
   * it.
   */
  replaceWork(id: string, collected: string): Promise<void>;
  replaceOutputs(id: string, collected: string, expected: readonly string[]): Promise<CollectedOutputs>;
  /**
   * Marks a sandbox as being destroyed, so that other processes know why its container ends. Disposing
   * removes the mark.
   */
  markDestroying(id: string): Promise<AsyncDisposable>;
  isBeingDestroyed(id: string): Promise<boolean>;
  addDestroyed(line: DestroyedSandbox): Promise<void>;
  findDestroyed(id: string): Promise<DestroyedSandbox | null>;
  /**
   * Removes the copies of the inputs and of the working folder. With `everything`, removes the outputs, too.
   */
  clear(id: string, options: { readonly everything: boolean }): Promise<void>;
  lockOf(id: string): Promise<Lock>;
  /** Finds the files that match the globs, below the folder in which the user ran the command. */
  findInputs(patterns: readonly string[]): Promise<InputFile[]>;
}
