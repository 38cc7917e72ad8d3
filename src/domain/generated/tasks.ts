// Made from schemas/tasks.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * Commands that must exit 0 before a story counts as done, run inside the sandbox by `sh -c`.
 *
 * @maxItems 50
 */
export type Checks = string[];
/**
 * Like `90s`, `30m`, `6h`, `1d`.
 */
export type Duration = string;

/**
 * Work for one worker: `.aimi/tasks/YYYY-MM-DD-<feature>-tasks.json`. Fields that are not described here are kept and ignored.
 */
export interface TaskFile {
  /**
   * Version of this format.
   */
  readonly schemaVersion: "3.0" | "3.1" | "3.2" | "3.3";
  readonly metadata: TaskMetadata;
  /**
   * The stories, carried out one after another in the order of their dependencies, then priority, then id.
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
   * Where the finished work goes. What git accepts as a branch, does not start with `-` and means nothing else to git, such as `stash`, `refs/…` or a remote.
   */
  readonly branchName: string;
  readonly createdAt?: string;
  readonly planPath?: string | null;
  readonly brainstormPath?: string | null;
  /**
   * Lowers the number of workers at once, never raises it. 0 or less means 4.
   */
  readonly maxConcurrency?: number;
  /**
   * The commit to start from; HEAD when absent.
   */
  readonly baseRef?: string;
  /**
   * Task files (by file name) whose workers must have completed first. This worker starts from their result.
   *
   * @maxItems 100
   */
  readonly dependsOn?: readonly string[];
  readonly verify?: Checks;
  readonly agent?: AgentChoice;
  /**
   * The most that this worker may cost. A value above the settings' own counts only after `swarm trust`.
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
   * An image of your own instead of the project's. Counts only after `swarm trust`.
   */
  readonly dockerImage?: string | null;
}
/**
 * The coding agent of this task.
 */
export interface AgentChoice {
  readonly kind: "claude" | "acp" | "command" | "script";
  /**
   * Program and arguments, for `acp` and `command`.
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
   * Counts only after `swarm trust`.
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
   * Lower comes first.
   */
  readonly priority: number;
  /**
   * What an earlier tool left here. The swarm keeps its own record and changes no task file.
   */
  readonly status?: "pending" | "in_progress" | "completed" | "failed" | "skipped";
  /**
   * Stories that must be completed first. No cycles.
   */
  readonly dependsOn?: readonly string[];
  readonly notes?: string | null;
  readonly verify?: Checks;
  /**
   * The story counts as done even if it changes nothing and no check is there to show it.
   */
  readonly mayBeEmpty?: boolean;
  readonly timeout?: Duration;
}
