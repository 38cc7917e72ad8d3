// Made from schemas/plan.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What `swarm plan --json` prints.
 */
export interface SwarmPlan {
  /**
   * HEAD now; null in a repository without commits.
   */
  readonly base: string | null;
  readonly parallel: PlannedParallel;
  readonly isolation: "auto" | "shared-kernel" | "userns" | "strong";
  /**
   * Of every worker's sandbox: `gateway`, `none`, `bridge`, or the name of one that the engine has.
   */
  readonly network: string;
  /**
   * What agents reach and by what they are let in there, in words.
   */
  readonly reach: readonly string[];
  /**
   * Which variables of this environment go into which agents' own; never their values.
   */
  readonly credentials: readonly PlannedCredentials[];
  readonly limits: PlannedLimits;
  readonly timeout: string;
  /**
   * In the order in which they start.
   */
  readonly tasks: readonly PlannedTask[];
  readonly warnings: readonly string[];
}
export interface PlannedParallel {
  readonly workers: number;
  readonly why: string;
}
export interface PlannedCredentials {
  readonly agent: string;
  readonly variables: readonly string[];
}
export interface PlannedLimits {
  readonly cpus: number;
  readonly memory: string;
  readonly disk: string;
  readonly pids: number;
}
export interface PlannedTask {
  readonly file: string;
  readonly slug: string;
  readonly title: string;
  readonly branch: string;
  readonly agent: string;
  readonly base: string;
  readonly dependsOn: readonly string[];
  readonly action: "run" | "skip";
  readonly why: string;
  readonly timeout: string;
  readonly budgetUsd: number | null;
  /**
   * Hosts beside the model API.
   */
  readonly allow: readonly string[];
  /**
   * null for the project's own.
   */
  readonly image: string | null;
  readonly checks: readonly string[];
  readonly stories: readonly PlannedStory[];
}
export interface PlannedStory {
  readonly id: string;
  readonly title: string;
  readonly after: readonly string[];
  readonly checks: readonly string[];
}
