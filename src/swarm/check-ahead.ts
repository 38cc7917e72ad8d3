import type { RanCheck } from "../domain/generated/merge.ts";

/** Runs the check on a commit; null if there is no check. */
export type CheckCommit = (commit: string, what: string, signal: AbortSignal) => Promise<RanCheck | null>;

/** Speculative checks: each may start before its result is needed. */
export interface SpeculativeChecks {
  readonly begin: (commit: string, what: string) => void;
  /** Resolves with the result of the check that was started for a commit, or else runs one. */
  readonly resultOf: (commit: string, what: string) => Promise<RanCheck | null>;
  /** Aborts the started checks whose result no caller has requested. */
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
      // Prevents an unhandled rejection: `resultOf` passes a failure on, and a dropped check may fail.
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
      for (const { abort: giveUp } of begun) giveUp();
      await Promise.allSettled(begun.map(({ end }) => end));
    },
  };
}
