import { countOf } from "./count-of.ts";
import type { ProofCheck, ProofVerdict } from "./generated/proof.ts";

export interface JudgedProof {
  readonly verdict: ProofVerdict;
  /** What is broken, or no better than before. */
  readonly why: string | null;
}

/**
 * What checks in fresh sandboxes say of a result. What the task demands must pass, whatever it did before: that is what the
 * worker said it had done. What only the repository brings must not have become worse.
 */
export function judgeProof(checks: readonly ProofCheck[]): JudgedProof {
  if (checks.length === 0) return { verdict: "not-checked", why: null };
  const red = checks.filter(({ after }) => after.exitCode !== 0);
  const broken = red.filter(({ isDemanded, before }) => isDemanded || before.exitCode === 0);
  const [first] = broken;
  if (first) {
    const more = broken.length > 1 ? `, and ${countOf(broken.length - 1, "more check")}` : "";
    const before = first.before.exitCode === 0 ? "passed before" : "failed before, too";
    return {
      verdict: "broken",
      why: `\`${first.command}\` ${howItEnded(first)} in a fresh sandbox, and ${before}${more}`,
    };
  }
  const [same] = red;
  return same
    ? { verdict: "not-worse", why: `\`${same.command}\` fails as it did before` }
    : { verdict: "proved", why: null };
}

function howItEnded({ after: { exitCode } }: ProofCheck): string {
  return exitCode === null ? "did not end" : `exits with ${exitCode}`;
}
