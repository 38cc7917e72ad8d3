import type { CommitReader } from "./commit-reader-port.ts";
import type { GitQueries } from "./git.ts";
import type { WorkRepository } from "./work-repository-port.ts";

/** Access to git in the user's repository. */
export interface ProjectGit {
  queries(): Promise<GitQueries>;
  commits(): Promise<CommitReader>;
  work(): Promise<WorkRepository>;
}
