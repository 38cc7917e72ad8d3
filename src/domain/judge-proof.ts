import { countOf } from "./count-of.ts";
import type { ProofCheck, ProofVerdict } from "./generated/proof.ts";

export interface JudgedProof {
  readonly verdict: ProofVerdict;
  /** The check that is broken, or that fails as before; null if there is none. */
  readonly why: string | null;
}

/**
 * Judges a result by checks in fresh sandboxes. A check that the task demands must pass, even if it failed before: the
 * worker reported it as done. A check that only the repository brings must not have become worse.
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
