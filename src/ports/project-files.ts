import type { LedgerLine } from "../domain/ledger.ts";

/** A file's bytes and their checksum. */
export interface FileBytes {
  /** As people type it. */
  readonly path: string;
  /** Where it really lies. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The bytes of a task file and what names it. */
export interface TaskBytes extends FileBytes {
  readonly fileName: string;
}

/** `.aimi/tasks` of one repository. */
export interface TaskFolder {
  /** The names of its task files, newest first, and names that were passed over. */
  list(): Promise<{ fileNames: string[]; ignored: string[] }>;
  /** Reads one by its name or path; it must really lie in the folder. */
  read(file: string): Promise<TaskBytes>;
}

/** What was completed or failed, by content, in the git folder. */
export interface LedgerFile {
  read(): Promise<LedgerLine[]>;
  /** Adds lines and waits until the disk has them. */
  add(lines: readonly LedgerLine[]): Promise<void>;
}

/** Which contents of which files this user has read and trusts. */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}

/** What we ask git about a worktree. */
export interface Git {
  version(): Promise<string | null>;
  /** The commit of HEAD; null before the first commit. */
  head(): Promise<string | null>;
  /** In whose name commits are made here. */
  user(): Promise<{ readonly name: string; readonly email: string }>;
  branches(): Promise<string[]>;
  remotes(): Promise<string[]>;
  /** How many tracked or untracked files differ from HEAD, task files and what swarm writes apart. */
  changedFiles(): Promise<number>;
}

/** Small files that are made once and never written over. */
export interface NewFiles {
  /** False when something is there already, which is left as it is. */
  writeIfAbsent(path: string, content: string): Promise<boolean>;
  /** Adds the lines that a text file does not have yet; says whether any were added. */
  addMissingLines(path: string, lines: readonly string[]): Promise<boolean>;
}
