// Made from schemas/plan.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The document that `swarm plan --json` prints.
 */
export interface SwarmPlan {
  /**
   * The current HEAD; null in a repository without commits.
   */
  readonly base: string | null;
  readonly parallel: PlannedParallel;
  readonly isolation: "auto" | "shared-kernel" | "userns" | "strong";
  /**
   * The network of every worker's sandbox: `gateway`, `none`, `bridge`, or the name of an existing network.
   */
  readonly network: string;
  /**
   * The hosts that agents reach and the credentials for them, as text.
   */
  readonly reach: readonly string[];
  /**
   * The variables of this environment that agents get, by agent; never their values.
   */
  readonly credentials: readonly PlannedCredentials[];
  readonly limits: PlannedLimits;
  readonly timeout: string;
  /**
   * The tasks in the order in which they start.
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
   * The image; null for the project's own.
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
