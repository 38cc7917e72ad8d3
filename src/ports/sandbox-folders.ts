import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { SandboxSummary } from "../domain/generated/sandbox-summary.ts";
import type { OutputChunk } from "./containers.ts";
import type { Lock } from "./lock.ts";

/** A line of a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** The entry that stays on disk after a sandbox is destroyed. */
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
  /** The output paths that the user expected, but that swarm did not collect. */
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
  /** Lists the valid records, newest first. `unreadable` has an error message for each invalid record. */
  list(): Promise<{ readonly records: SandboxRecord[]; readonly unreadable: string[] }>;
  /** Reads a sandbox's record; null if it is missing or invalid. */
  read(id: string): Promise<SandboxRecord | null>;
  /**
   * Creates the folder of a new sandbox, with the spec and copies of the inputs. Throws if the folder exists.
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
  /** Returns the path of an entry in the sandbox's folder. */
  pathFor(id: string, name: string): string;
  /**
   * Replaces `work/` by the folder `collected`. `replaceOutputs` replaces `outputs/`, but keeps the logs in
   * `outputs/`.
   */
  replaceWork(id: string, collected: string): Promise<void>;
  replaceOutputs(id: string, collected: string, expected: readonly string[]): Promise<CollectedOutputs>;
  /**
   * Records on disk that a process is destroying the sandbox, so that other processes know why the container
   * ends. Disposing deletes this record.
   */
  markDestroying(id: string): Promise<AsyncDisposable>;
  isBeingDestroyed(id: string): Promise<boolean>;
  addDestroyed(line: DestroyedSandbox): Promise<void>;
  findDestroyed(id: string): Promise<DestroyedSandbox | null>;
  /**
   * Removes the copies of the inputs and of the working folder. With `everything`, removes the sandbox's
   * whole folder.
   */
  clear(id: string, options: { readonly everything: boolean }): Promise<void>;
  lockOf(id: string): Promise<Lock>;
  /** Finds the files that match the globs, below the folder in which the user ran the command. */
  findInputs(patterns: readonly string[]): Promise<InputFile[]>;
}
