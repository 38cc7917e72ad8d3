// Made from schemas/proof.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * proved: every check passes. not-worse: what fails failed before, and the task does not demand it. broken: what the task demands fails, or what passed before. not-checked: there is no check.
 */
export type ProofVerdict = "proved" | "not-worse" | "broken" | "not-checked";

/**
 * What became of a worker's result in fresh sandboxes, where no agent ever was: `.aimi/swarms/<swarm>/<worker>/proof.json`.
 */
export interface ProofReport {
  readonly worker: string;
  readonly attempt: number;
  /**
   * The result.
   */
  readonly commit: string;
  /**
   * The commit that the work began with.
   */
  readonly base: string;
  readonly at: string;
  readonly verdict: ProofVerdict;
  /**
   * What is broken, or no better than before.
   */
  readonly why: string | null;
  readonly checks: readonly ProofCheck[];
  /**
   * Which checks stand for which story.
   */
  readonly stories: readonly ProofStory[];
  /**
   * Tests that the work deleted or skips.
   */
  readonly weakenedTests: readonly WeakenedTest[];
  /**
   * Whether the work is too large for all of its tests to be looked at.
   */
  readonly isCut: boolean;
}
/**
 * One check, on the commit that the work began with and on the result.
 */
export interface ProofCheck {
  readonly command: string;
  /**
   * Whether the task or the settings name it; else it is how the repository tests itself.
   */
  readonly isDemanded: boolean;
  readonly before: RanCheck;
  readonly after: RanCheck;
}
export interface RanCheck {
  /**
   * null where it was ended after its limit.
   */
  readonly exitCode: number | null;
  /**
   * The end of what it printed.
   */
  readonly output: string;
  readonly durationMs: number;
}
export interface ProofStory {
  readonly id: string;
  readonly criteria: readonly string[];
  /**
   * Their commands.
   */
  readonly checks: readonly string[];
}
export interface WeakenedTest {
  readonly path: string;
  readonly how: "deleted" | "skipped";
  /**
   * Where it was, or what skips it.
   */
  readonly line: string;
}
