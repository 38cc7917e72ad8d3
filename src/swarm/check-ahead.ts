import type { RanCheck } from "../domain/generated/merge.ts";

/** Runs the check of a commit; null where nothing is checked. */
export type CheckCommit = (commit: string, what: string, signal: AbortSignal) => Promise<RanCheck | null>;

/** Checks, each of which can be begun before anybody knows whether its answer is wanted. */
export interface ChecksAhead {
  readonly begin: (commit: string, what: string) => void;
  /** How the check ends: of the one that was begun, or of a new one. */
  readonly endOf: (commit: string, what: string) => Promise<RanCheck | null>;
  /** Ends what was begun and nobody asked for. */
  readonly drop: () => Promise<void>;
}

interface Begun {
  readonly end: Promise<RanCheck | null>;
  readonly giveUp: () => void;
}

export function checksAhead(check: CheckCommit, signal: AbortSignal): ChecksAhead {
  const begunOf = new Map<string, Begun>();
  return {
    begin(commit, what) {
      const stop = new AbortController();
      const end = check(commit, what, AbortSignal.any([stop.signal, signal]));
      // Whoever asks for it is told of a failure; if nobody asks, there is none.
      end.catch(() => {});
      begunOf.set(commit, { end, giveUp: () => stop.abort() });
    },
    endOf(commit, what) {
      const begun = begunOf.get(commit);
      begunOf.delete(commit);
      return begun?.end ?? check(commit, what, signal);
    },
    async drop() {
      const begun = [...begunOf.values()];
      begunOf.clear();
      for (const { giveUp } of begun) giveUp();
      await Promise.allSettled(begun.map(({ end }) => end));
    },
  };
}
