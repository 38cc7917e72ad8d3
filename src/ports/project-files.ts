import type { LedgerLine } from "../domain/ledger.ts";

/** The content of a file, with its checksum. */
export interface FileContent {
  /** The file's path as users type it. */
  readonly path: string;
  /** The file's path with symbolic links resolved. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The content of a task file, with its name inside the task folder. */
export interface TaskFileContent extends FileContent {
  readonly fileName: string;
}

/** The folder `.aimi/tasks` of one worktree. */
export interface TaskFolder {
  /**
   * Lists the names of task files, newest first. `ignored` has the task files whose names contain forbidden
   * characters.
   */
  list(): Promise<{ fileNames: string[]; ignored: string[] }>;
  /** Reads a task file, given its name or path. Throws if symbolic links lead out of the task folder. */
  read(file: string): Promise<TaskFileContent>;
}

/**
 * The ledger, a file in the git folder that records which task files were completed or failed. The ledger
 * identifies a task file by the checksum of its content.
 */
export interface LedgerFile {
  read(): Promise<LedgerLine[]>;
  /** Appends lines and resolves when they are on the disk. */
  add(lines: readonly LedgerLine[]): Promise<void>;
}

/**
 * The list of files that this user trusts. A file counts as trusted only while its path and content stay the
 * same.
 */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}

/** Queries to git about a worktree. */
export interface GitQueries {
  version(): Promise<string | null>;
  /** Returns the commit of HEAD; null before the first commit. */
  head(): Promise<string | null>;
  /** Returns the author that git would record for a commit in this worktree. */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /**
   * Counts tracked and untracked files that differ from HEAD. Task files, settings and swarm's own files do
   * not count.
   */
  changedFiles(): Promise<number>;
}

/** Creates or extends small files of the project without ever overwriting them. */
export interface ProjectFileWriter {
  /** Writes a new file. If the path already exists, changes nothing and returns false. */
  writeIfAbsent(path: string, content: string): Promise<boolean>;
  /**
   * Appends each of the lines that the text file does not contain yet. Returns whether any line was appended.
   */
  addMissingLines(path: string, lines: readonly string[]): Promise<boolean>;
}
