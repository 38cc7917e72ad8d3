// Made from schemas/script-agent.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * @maxItems 1000
 */
export type ScriptSteps = ScriptStep[];

/**
 * What the scripted agent does, by story: for demonstrations and tests, without a key.
 */
export interface AgentScript {
  [k: string]: ScriptSteps;
}
/**
 * Exactly one of these. `onRepair` is what it does instead of the rest when a check failed, or when it is asked to go on after a crash; where there is none, it does the steps again.
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
   * Ends at once with this code.
   */
  readonly exit?: number;
  readonly onRepair?: ScriptSteps;
}
