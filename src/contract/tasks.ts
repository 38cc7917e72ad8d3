// Made from schemas/tasks.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * Commands that must exit 0 before a story counts as done. The adapter runs them in the sandbox by `sh -c`.
 *
 * @maxItems 50
 */
export type Checks = string[];
/**
 * Like `90s`, `30m`, `6h`, `1d`.
 */
export type Duration = string;

/**
 * Work for one worker: `.aimi/tasks/YYYY-MM-DD-<feature>-tasks.json`. Swarm keeps and ignores fields that are not described here.
 */
export interface TaskFile {
  /**
   * Version of this format.
   */
  readonly schemaVersion: "3.0" | "3.1" | "3.2" | "3.3";
  readonly metadata: TaskMetadata;
  /**
   * The stories. The agent works on them one after another, by dependencies, then priority, then id.
   *
   * @minItems 1
   * @maxItems 10000
   */
  readonly userStories: readonly UserStory[];
}
export interface TaskMetadata {
  /**
   * Usually with a type prefix: `feat: …`.
   */
  readonly title: string;
  readonly type?: "feat" | "ref" | "bug" | "chore";
  /**
   * The branch for the finished work: a name that git accepts for a branch, that does not start with `-`, and that has no other meaning to git, such as `stash`, `refs/…` or a remote.
   */
  readonly branchName: string;
  readonly createdAt?: string;
  readonly planPath?: string | null;
  readonly brainstormPath?: string | null;
  /**
   * An upper limit for the number of concurrent workers. 0 or less means 4.
   */
  readonly maxConcurrency?: number;
  /**
   * The commit to start from; HEAD when absent.
   */
  readonly baseRef?: string;
  /**
   * The file names of tasks whose workers must complete first. This worker starts from their results.
   *
   * @maxItems 100
   */
  readonly dependsOn?: readonly string[];
  readonly verify?: Checks;
  readonly agent?: AgentChoice;
  /**
   * The maximum cost of this worker. A value above that of the settings counts only after `swarm trust`.
   */
  readonly budgetUsd?: number;
  readonly timeout?: Duration;
  /**
   * Hosts (`name:port`) and presets (`npm`) that the agent may reach beside its model. Counts only after `swarm trust`.
   *
   * @maxItems 100
   */
  readonly allow?: readonly string[];
  /**
   * The image to use instead of the project's. Counts only after `swarm trust`.
   */
  readonly dockerImage?: string | null;
}
/**
 * The coding agent of this task.
 */
export interface AgentChoice {
  readonly kind: "claude" | "acp" | "command" | "script";
  /**
   * The program and its arguments, for `acp` and `command`.
   *
   * @minItems 1
   */
  readonly command?: readonly string[];
  /**
   * Path of the script file below `.aimi/`, for `script`.
   */
  readonly script?: string;
  readonly model?: string;
  readonly maxTurns?: number;
  /**
   * Environment variables of the agent. Count only after `swarm trust`.
   */
  readonly env?: {
    [k: string]: string;
  };
}
export interface UserStory {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly acceptanceCriteria: readonly string[];
  /**
   * The priority; lower comes first.
   */
  readonly priority: number;
  /**
   * A leftover of an earlier tool. Swarm keeps its own record and changes no task file.
   */
  readonly status?: "pending" | "in_progress" | "completed" | "failed" | "skipped";
  /**
   * The ids of stories that must be completed first. Cycles are an error.
   */
  readonly dependsOn?: readonly string[];
  readonly notes?: string | null;
  readonly verify?: Checks;
  /**
   * Whether the story counts as done even if it changes nothing and has no check.
   */
  readonly mayBeEmpty?: boolean;
  readonly timeout?: Duration;
}
