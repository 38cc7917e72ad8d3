import type { ProofCheck, ProofVerdict } from "../../../contract/proof.ts";
import { formatCount } from "../../../text/format-count.ts";

export interface ProofJudgement {
  readonly verdict: ProofVerdict;
  /** A description of the first failed check that makes the verdict negative; null if there is none. */
  readonly why: string | null;
}

/**
 * Decides from checks in fresh sandboxes whether a worker's result is accepted. A check that the task
 * demands must pass. Any other check may fail if it also failed before the agent's work.
 */
export function judgeProof(checks: readonly ProofCheck[]): ProofJudgement {
  if (checks.length === 0) return { verdict: "not-checked", why: null };
  const red = checks.filter(({ after }) => after.exitCode !== 0);
  const broken = red.filter(({ isDemanded, before }) => isDemanded || before.exitCode === 0);
  const [first] = broken;
  if (first) {
    const more = broken.length > 1 ? ` (and ${formatCount(broken.length - 1, "more check")})` : "";
    const before =
      first.before.exitCode === 0
        ? "but passed before the agent's work"
        : "and also failed before the agent's work";
    return {
      verdict: "broken",
      why: `\`${first.command}\` ${howItEnded(first)} in a fresh sandbox ${before}${more}`,
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
