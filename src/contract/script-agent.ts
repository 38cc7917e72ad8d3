// Made from schemas/script-agent.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * @maxItems 1000
 */
export type ScriptSteps = ScriptStep[];

/**
 * The steps of the scripted agent, by story: for demonstrations and tests, without a key.
 */
export interface AgentScript {
  [k: string]: ScriptSteps;
}
/**
 * Exactly one of these. `onRepair` replaces the other steps after a failed check, and when the agent continues after a crash; without it the agent repeats the steps.
 */
export interface ScriptStep {
  /**
   * Writes a file below the work folder; a path that is absolute or has `..` ends the agent with exit code 2.
   */
  readonly write?: {
    readonly path: string;
    readonly content: string;
  };
  /**
   * Runs a program; if it fails, the agent fails.
   *
   * @minItems 1
   */
  readonly run?: readonly string[];
  readonly say?: string;
  readonly sleepMs?: number;
  /**
   * Ends the agent at once with this exit code.
   */
  readonly exit?: number;
  readonly onRepair?: ScriptSteps;
}
