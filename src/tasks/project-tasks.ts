import type { FileContent } from "../settings/trust-file.ts";
import type { TaskLedgerLine } from "./rules/ledger.ts";

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

/** The task files of this worktree, and the record of those that were carried out before. */
export interface ProjectTasks {
  folder(): Promise<TaskFolder>;
  ledger(): Promise<LedgerFile>;
}
