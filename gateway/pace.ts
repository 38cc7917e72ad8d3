/** How fast each worker may go on: what it does is written down, and a disk is not endless. */
export interface Pace {
  /** Whether it may do one more thing now. */
  allows(worker: string): boolean;
}

export interface PaceBounds {
  readonly mostAtOnce: number;
  readonly perSecond: number;
}

/** `now`: in milliseconds, by a clock that only goes on. */
export function openPace({ mostAtOnce, perSecond }: PaceBounds, now: () => number): Pace {
  const leftByWorker = new Map<string, { readonly left: number; readonly at: number }>();
  return {
    allows(worker) {
      const at = now();
      const before = leftByWorker.get(worker) ?? { left: mostAtOnce, at };
      const left = Math.min(mostAtOnce, before.left + ((at - before.at) / 1000) * perSecond);
      if (left < 1) return false;
      leftByWorker.set(worker, { left: left - 1, at });
      return true;
    },
  };
}
