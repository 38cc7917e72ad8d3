// Made from schemas/proof.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * proved: every check passes. not-worse: the failing checks failed before, and the task does not demand them. broken: a check that the task demands fails, or one that passed before. not-checked: there is no check.
 */
export type ProofVerdict = "proved" | "not-worse" | "broken" | "not-checked";

/**
 * The outcome of checking a worker's result in fresh sandboxes, in which no agent has run: `.aimi/swarms/<swarm>/<worker>/proof.json`.
 */
export interface ProofReport {
  readonly worker: string;
  readonly attempt: number;
  /**
   * The commit of the result.
   */
  readonly commit: string;
  /**
   * The commit from which the work started.
   */
  readonly base: string;
  readonly at: string;
  readonly verdict: ProofVerdict;
  /**
   * The checks that are broken, or no better than before.
   */
  readonly why: string | null;
  readonly checks: readonly ProofCheck[];
  /**
   * The checks of each story.
   */
  readonly stories: readonly ProofStory[];
  /**
   * Tests that the work deletes or skips.
   */
  readonly weakenedTests: readonly WeakenedTest[];
  /**
   * Whether the work is too large to examine all of its tests.
   */
  readonly isCut: boolean;
}
/**
 * One check, on the commit from which the work started and on the result.
 */
export interface ProofCheck {
  readonly command: string;
  /**
   * Whether the task or the settings name it; else it is one of the repository's own tests.
   */
  readonly isDemanded: boolean;
  readonly before: RanCheck;
  readonly after: RanCheck;
}
export interface RanCheck {
  /**
   * The exit code; null when the time limit ended it.
   */
  readonly exitCode: number | null;
  /**
   * The end of its output.
   */
  readonly output: string;
  readonly durationMs: number;
}
export interface ProofStory {
  readonly id: string;
  readonly criteria: readonly string[];
  /**
   * The commands of the checks.
   */
  readonly checks: readonly string[];
}
export interface WeakenedTest {
  readonly path: string;
  readonly how: "deleted" | "skipped";
  /**
   * The line where the test was, or the line that skips it.
   */
  readonly line: string;
}
