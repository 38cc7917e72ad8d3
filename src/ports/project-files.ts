import type { LedgerLine } from "../domain/ledger.ts";

/** A file's bytes and their checksum. */
export interface FileBytes {
  /** The path as users type it. */
  readonly path: string;
  /** The path with links resolved. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The bytes of a task file and its name. */
export interface TaskBytes extends FileBytes {
  readonly fileName: string;
}

/** `.aimi/tasks` of one repository. */
export interface TaskFolder {
  /** The names of its task files, newest first, and the names that it ignored. */
  list(): Promise<{ fileNames: string[]; ignored: string[] }>;
  /** Reads a task file by its name or path; with links resolved it must lie in the folder. */
  read(file: string): Promise<TaskBytes>;
}

/** The ledger in the git folder: which task files, by content, were completed or failed. */
export interface LedgerFile {
  read(): Promise<LedgerLine[]>;
  /** Adds lines and waits until the disk has them. */
  add(lines: readonly LedgerLine[]): Promise<void>;
}

/** The record of files, by path and content, that this user trusts. */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}

/** Questions to git about a worktree. */
export interface Git {
  version(): Promise<string | null>;
  /** The commit of HEAD; null before the first commit. */
  head(): Promise<string | null>;
  /** The author that git uses for commits here. */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /** The number of tracked and untracked files that differ from HEAD, without task files, settings and swarm's own files. */
  changedFiles(): Promise<number>;
}

/** Small files that swarm creates and never overwrites. */
export interface NewFiles {
  /** Writes a file; false if the path exists already, which then stays as it is. */
  writeIfAbsent(path: string, content: string): Promise<boolean>;
  /** Adds the lines that a text file does not have yet; returns whether it added any. */
  addMissingLines(path: string, lines: readonly string[]): Promise<boolean>;
}
