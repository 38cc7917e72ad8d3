import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { SandboxSummary } from "../contract/sandbox-summary.ts";
import type { OutputChunk } from "../engine/containers.ts";
import type { Lock } from "../machine/lock.ts";

/** An event to append as a line to a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** The entry about a destroyed sandbox, which stays in `destroyed.ndjson`. */
export interface DestroyedSandbox {
  readonly id: string;
  readonly sandbox: string;
  readonly status: SandboxRecord["status"];
  readonly createdAt: string;
  readonly destroyedAt: string;
}

export interface SandboxInputFile {
  /**
   * The input file's path relative to the folder in which the user ran the command, with `/` as the
   * separator.
   */
  readonly path: string;
  /** The input file's absolute path on this machine, with symbolic links resolved. */
  readonly from: string;
}

/** The files that swarm collected from a sandbox into `outputs/` on the host. */
export interface CollectedOutputs {
  /** The paths of the first collected files, in alphabetical order. `more` is the number of further files. */
  readonly files: readonly string[];
  readonly more: number;
  /** The output paths that the spec expects, but that swarm did not find. */
  readonly missing: readonly string[];
}

/** A log of a task's stdout and stderr, in order, up to a maximum size per stream. */
export interface OutputLog extends AsyncDisposable {
  write(chunk: OutputChunk): Promise<void>;
  /** Whether the log dropped output beyond its maximum size. */
  readonly isCut: boolean;
}

/**
 * Access to `.aimi/sandboxes/`, which has a folder for each sandbox and a file with a line for each destroyed
 * sandbox.
 */
export interface SandboxFolders {
  /** The path of `.aimi/sandboxes/`, to show in messages. */
  readonly root: string;
  /**
   * Reads the records of all sandboxes. Returns the valid records, newest first, and in `unreadable` an error
   * message for each invalid one.
   */
  list(): Promise<{ readonly records: SandboxRecord[]; readonly unreadable: string[] }>;
  /**
   * Reads a sandbox's record; null if the sandbox has none. Throws if the record is invalid, or if swarm did
   * not write it for this user.
   */
  read(id: string): Promise<SandboxRecord | null>;
  /**
   * Creates a new sandbox's folder, with the sandbox's spec and copies of the input files. Throws if the
   * folder already exists.
   */
  make(
    id: string,
    content: { readonly spec: string; readonly inputs: readonly SandboxInputFile[] },
  ): Promise<void>;
  write(record: SandboxRecord): Promise<void>;
  logEvent(id: string, event: SandboxEvent): Promise<void>;
  /** Empties a sandbox's output logs for a new task, and opens them. */
  openOutput(id: string): Promise<OutputLog>;
  /** Reads the stored stdout and stderr of the sandbox's last task, in the order of their writing. */
  readOutput(
    id: string,
    options: { readonly follow: boolean },
    signal?: AbortSignal,
  ): AsyncIterable<OutputChunk>;
  writeSummary(summary: SandboxSummary): Promise<void>;
  /** Returns the path of the file or folder `name` in the sandbox's folder. */
  pathFor(id: string, name: string): string;
  /**
   * Replaces the folder `work/` of the sandbox by the folder `collected`. `replaceOutputs` replaces
   * `outputs/` in this way, but keeps the logs in it.
   */
  replaceWork(id: string, collected: string): Promise<void>;
  replaceOutputs(id: string, collected: string, expected: readonly string[]): Promise<CollectedOutputs>;
  /**
   * Marks the sandbox on disk as being destroyed, so that other processes know why its container ends.
   * Disposing removes the mark.
   */
  markDestroying(id: string): Promise<AsyncDisposable>;
  isBeingDestroyed(id: string): Promise<boolean>;
  addDestroyed(line: DestroyedSandbox): Promise<void>;
  findDestroyed(id: string): Promise<DestroyedSandbox | null>;
  /** Removes `inputs/` and `work/` from the sandbox's folder. With `everything`, removes the whole folder. */
  clear(id: string, options: { readonly everything: boolean }): Promise<void>;
  lockOf(id: string): Lock;
  /**
   * Finds the input files that match the glob patterns, below the folder in which the user ran the command.
   */
  findInputs(patterns: readonly string[]): Promise<SandboxInputFile[]>;
}
