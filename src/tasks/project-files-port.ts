import type { TaskLedgerLine } from "./rules/ledger.ts";

/** The content of a file, with its paths and its checksum. */
export interface FileContent {
  /** The path of the file, as messages show it to the user. */
  readonly path: string;
  /** The file's path with symbolic links resolved. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The content of a task file, with the file's name in the task folder. */
export interface TaskFileContent extends FileContent {
  readonly fileName: string;
}

/** The folder `.aimi/tasks` of one worktree. */
export interface TaskFolder {
  /** Lists the names of task files, newest first. `ignored` contains the names with forbidden characters. */
  list(): Promise<{ fileNames: string[]; ignored: string[] }>;
  /**
   * Reads a task file by its name or path. Throws if the file, after resolving symbolic links, is not in the
   * task folder.
   */
  read(file: string): Promise<TaskFileContent>;
}

/**
 * The ledger, a file in the git folder that records which task files swarm has completed or failed. The
 * ledger identifies a task file by the checksum of its content.
 */
export interface LedgerFile {
  read(): Promise<TaskLedgerLine[]>;
  /** Appends lines to the ledger. Resolves when the lines are on the disk. */
  add(lines: readonly TaskLedgerLine[]): Promise<void>;
}

/**
 * The list of files that this user has trusted. A file that has since been moved or changed is not trusted.
 */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}

/** Git queries about a worktree. */
export interface GitQueries {
  version(): Promise<string | null>;
  /** Returns the ID of the HEAD commit; null if the repository has no commit yet. */
  head(): Promise<string | null>;
  /**
   * Returns the name and the email address that git would record as the author of a new commit in this
   * worktree.
   */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /**
   * Returns the number of tracked and untracked files that differ from HEAD. Does not count task files,
   * settings and swarm's own files.
   */
  changedFiles(): Promise<number>;
}

/** Creates small project files, or appends lines to them. Never overwrites content. */
export interface ProjectFileWriter {
  /** Writes a new file and returns true. If the path already exists, changes nothing and returns false. */
  writeIfAbsent(path: string, content: string): Promise<boolean>;
  /**
   * Appends those of the given lines that the text file does not yet contain. Returns whether it appended any
   * line.
   */
  addMissingLines(path: string, lines: readonly string[]): Promise<boolean>;
}
