import type { LedgerFile, TaskFolder } from "./project-files-port.ts";

/** The task files of this worktree, and the record of those that were carried out before. */
export interface ProjectTasks {
  folder(): Promise<TaskFolder>;
  ledger(): Promise<LedgerFile>;
}
