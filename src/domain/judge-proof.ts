import { formatCount } from "./count-of.ts";
import type { ProofCheck, ProofVerdict } from "./generated/proof.ts";

export interface ProofJudgement {
  readonly verdict: ProofVerdict;
  /**
   * A description of the check that is broken, or that fails, as it did before the work the work; null if there is none.
   */
  readonly why: string | null;
}

/**
 * Judges a worker's result by its checks, run in fresh sandboxes. A check that the task demands must pass, even if it
 * failed before the work, because the worker reported the task as done. A check that only the repository brings may fail
 * if it failed before the work, too.
 */
export function judgeProof(checks: readonly ProofCheck[]): ProofJudgement {
  if (checks.length === 0) return { verdict: "not-checked", why: null };
  const red = checks.filter(({ after }) => after.exitCode !== 0);
  const broken = red.filter(({ isDemanded, before }) => isDemanded || before.exitCode === 0);
  const [first] = broken;
  if (first) {
    const more = broken.length > 1 ? ` (and ${formatCount(broken.length - 1, "more check")})` : "";
    const before = first.before.exitCode === 0 ? "passed before the work" : "also failed before the work";
    return {
      verdict: "broken",
      why: `\`${first.command}\` ${howItEnded(first)} in a fresh sandbox and ${before}${more}`,
    };
  }
  const [same] = red;
  return same
    ? { verdict: "not-worse", why: `\`${same.command}\` fails, as it did before the work` }
    : { verdict: "proved", why: null };
}

function howItEnded({ after: { exitCode } }: ProofCheck): string {
  return exitCode === null ? "did not end in time" : `exits with ${exitCode}`;
}
