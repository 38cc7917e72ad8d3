import type { RanCheck } from "../../contract/merge.ts";

/** Runs the check command of the merge on a commit. Returns null if no check command is set. */
export type RunMergeCheck = (commit: string, what: string, signal: AbortSignal) => Promise<RanCheck | null>;

/**
 * Runs the merge check on commits before it is certain that the results are needed, so that a needed result
 * is ready sooner.
 */
export interface SpeculativeChecks {
  readonly begin: (commit: string, what: string) => void;
  /**
   * Returns the result of the merge check on a commit. Waits for the check that `begin` started for this
   * commit, or else runs the check now.
   */
  readonly resultOf: (commit: string, what: string) => Promise<RanCheck | null>;
  /** Aborts the checks that `begin` started and whose results `resultOf` has not returned. */
  readonly abortUnused: () => Promise<void>;
}

interface Begun {
  readonly end: Promise<RanCheck | null>;
  readonly abort: () => void;
}

export function speculativeChecks(check: RunMergeCheck, signal: AbortSignal): SpeculativeChecks {
  const begunByCommit = new Map<string, Begun>();
  return {
    begin(commit, what) {
      const stop = new AbortController();
      const end = check(commit, what, AbortSignal.any([stop.signal, signal]));
      // Prevents an unhandled rejection. `resultOf` still passes a failure on; the failure of an unused check
      // does not matter.
      end.catch(() => {});
      begunByCommit.set(commit, { end, abort: () => stop.abort() });
    },
    resultOf(commit, what) {
      const begun = begunByCommit.get(commit);
      begunByCommit.delete(commit);
      return begun?.end ?? check(commit, what, signal);
    },
    async abortUnused() {
      const begun = [...begunByCommit.values()];
      begunByCommit.clear();
      for (const { abort } of begun) abort();
      await Promise.allSettled(begun.map(({ end }) => end));
    },
  };
}
