import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { SandboxSummary } from "../contract/sandbox-summary.ts";
import type { OutputChunk } from "../engine/containers.ts";
import type { Lock } from "../machine/locks/lock.ts";

/** An event to append as a line to a sandbox's `events.log`. */
export interface SandboxEvent {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** The entry about a destroyed sandbox, which stays in `destroyed.ndjson`. */
export interface DestroyedSandbox extends Pick<SandboxRecord, "id" | "sandbox" | "status" | "createdAt"> {
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
