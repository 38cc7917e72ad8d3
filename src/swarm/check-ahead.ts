import type { RanCheck } from "../domain/generated/merge.ts";

/** Runs the merge check on a commit. Returns null if there is no check. */
export type CheckCommit = (commit: string, what: string, signal: AbortSignal) => Promise<RanCheck | null>;

/**
 * Starts checks of commits before it is certain that their results are needed. If a result is needed, it is
 * then ready sooner.
 */
export interface SpeculativeChecks {
  readonly begin: (commit: string, what: string) => void;
  /** Returns the result of the check that was started for a commit. If no check was started, runs one now. */
  readonly resultOf: (commit: string, what: string) => Promise<RanCheck | null>;
  /** Aborts the started checks whose results no caller has requested. */
  readonly abortUnused: () => Promise<void>;
}

interface Begun {
  readonly end: Promise<RanCheck | null>;
  readonly abort: () => void;
}

export function speculativeChecks(check: CheckCommit, signal: AbortSignal): SpeculativeChecks {
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
